// The entry of every page but the boards, which have no editors: beside that of every page.

import { watchEditing } from "./editing.js";
import { watchForms } from "./forms.js";

watchEditing();
watchForms();
