/** The definition of `batch-settlement` on EVM: networks and addresses are those of every scheme of the family. */
import type { Scheme } from "@pontage/core"

import * as ExactEvm from "./ExactEvm.ts"

/** The scheme of payment channels. */
export const scheme: Scheme = { ...ExactEvm.scheme, name: "batch-settlement" }
