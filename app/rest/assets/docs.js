"use strict";

// Same-origin calls carry the session cookie by themselves; the header marks them as a page's.
SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#document",
  deepLinking: true,
  requestInterceptor(request) {
    request.headers["X-Requested-By"] = "web";
    return request;
  },
});
