/**
 * Emulation of TON payments by the virtual machine of `@ton/sandbox` before a relayer spends anything on them. It finds
 * failures that only the contracts' execution shows, and costs about 25 milliseconds of processor time a payment. The machine
 * is an optional dependency.
 */
import { Misconfigured } from "@pontage/core"
import type { TonEmulation } from "@pontage/ton"
import * as Effect from "effect/Effect"

import type { TonSettings } from "../settings/TonSettings.ts"

/**
 * The emulation of the settings. Gives `undefined` for `never`, and for `installed` when it is not installed, which is logged.
 * Fails with `Misconfigured` when it is `required` and cannot be loaded.
 */
export const make = (wish: TonSettings["emulation"]): Effect.Effect<TonEmulation | undefined, Misconfigured> => {
  if (wish === "never") return Effect.undefined
  const loading = Effect.tryPromise({ try: () => import("@pontage/ton/emulation"), catch: notInstalled })
  return loading.pipe(
    Effect.flatMap((emulation) => emulation.make()),
    Effect.catch((missing) => (wish === "required" ? Effect.fail(missing) : Effect.as(without, undefined)))
  )
}

const packages = "@ton/sandbox, @ton/crypto and @ton-community/func-js"

const notInstalled = () =>
  new Misconfigured({ message: `PONTAGE_TON_EMULATION: the machine cannot be loaded; install ${packages}` })

const without = Effect.logWarning(
  `payments on TON are not emulated before they are sent: install ${packages}, or set PONTAGE_TON_EMULATION=false`
)
