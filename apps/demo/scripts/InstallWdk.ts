/** Installs the published WDK in `wdk`, by that folder's own lock file, unless it is there already. `npm start -- --wdk` runs it. */
import { join } from "node:path"

import { installApart } from "../../../core/scripts/InstallApart.ts"

installApart(join(import.meta.dirname, "../wdk"), "the WDK and its three wallets, 175 packages, some 240 MB,")
