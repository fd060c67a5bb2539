/** The page's scripts from the sources as they are now, for tests. */
import { bundle } from "./PageBundle.ts"

export const { entry, files } = await bundle(true)
