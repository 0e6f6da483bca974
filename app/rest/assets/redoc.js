"use strict";

Redoc.init("openapi.json", { disableSearch: false }, document.getElementById("document"));
