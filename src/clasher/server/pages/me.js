// Who we are to the service, and what we may do.

import { get } from "./api.js";
import { token, who } from "./session.js";

/** A token has a name and a scope; without one, people call themselves what they like. */
export async function me() {
  const { who: name, scope } = await get("about");
  return token() ? { name, scope, isFixed: true } : { name: who(), scope, isFixed: false };
}
