/** The environment of the pages' programs as processes, beside their own settings. */
import { tmpdir } from "node:os"
import { join } from "node:path"

/** Each process would compile all its modules anew without the cache. */
export const environment = {
  PATH: process.env["PATH"],
  NODE_COMPILE_CACHE: join(tmpdir(), "node-compile-cache")
}
