// Serves every page except boards, with the scripts that it imports.
// Boards have no editors.

import { watchDrafts } from "./drafts.js";
import { watchEditing } from "./editing.js";
import { watchForms } from "./forms.js";
import { watchPicking } from "./picking.js";
import { watchSending } from "./sending.js";

watchEditing();
watchPicking();
watchDrafts();
watchForms();
watchSending();
