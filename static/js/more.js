// The entry of every page but the boards, which have no editors: beside that of every page.

import { watchDrafts } from "./drafts.js";
import { watchEditing } from "./editing.js";
import { watchForms } from "./forms.js";

watchEditing();
watchDrafts();
watchForms();
