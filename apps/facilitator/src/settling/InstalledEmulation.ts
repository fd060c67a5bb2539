/**
 * Playing payments on TON through before anything is spent on them, by the virtual machine of `@ton/sandbox`. It saves the
 * relayers what only running the contracts shows, and costs some 25 milliseconds of a processor a payment; the machine is an
 * optional dependency, so that who wants neither need not install it.
 */
import { Misconfigured } from "@pontage/core"
import type { TonEmulation } from "@pontage/ton"
import * as Effect from "effect/Effect"

import type { TonSettings } from "../settings/TonTerms.ts"

/**
 * The emulation that is wished for; `undefined` where there is to be none, or where none is installed and none was asked
 * for by name, which is logged. `Misconfigured` where it was asked for and cannot be loaded.
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
  `payments on TON are not played through before they are sent: install ${packages}, or set PONTAGE_TON_EMULATION=false`
)
