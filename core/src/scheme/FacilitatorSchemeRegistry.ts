/**
 * The schemes that a facilitator settles by, one per network:
 * `FacilitatorSchemeRegistry.layer([exactEvm.facilitator({ signer, rpcUrl })])`. The facilitator in this process takes it from the
 * context, and so do the watches over its chains and its signers' balances.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Result from "effect/Result"
import type * as Scope from "effect/Scope"

import * as OptionCheck from "../protocol/OptionCheck.ts"
import type { ChainUnavailable, Misconfigured } from "../protocol/ProtocolError.ts"
import type { SchemeFacilitator } from "./SchemeFacilitator.ts"
import * as SchemeRegistry from "./SchemeRegistry.ts"

/** The service. */
export class FacilitatorSchemeRegistry extends Context.Service<
  FacilitatorSchemeRegistry,
  SchemeRegistry.SchemeRegistry<SchemeFacilitator>
>()("@pontage/core/FacilitatorSchemeRegistry") {}

/**
 * A scheme as its constructor gives it, such as `exactEvm.facilitator({ ... })`: it connects to its chain once, when the
 * layer is built.
 */
export type FacilitatorScheme = Effect.Effect<SchemeFacilitator, Misconfigured | ChainUnavailable, Scope.Scope>

/** Checks the list, for options that take it as a plain value. */
export const check: OptionCheck.Check<ReadonlyArray<FacilitatorScheme>> = OptionCheck.list(
  OptionCheck.given("a scheme facilitator, such as exactEvm.facilitator({ ... })", Effect.isEffect),
  "[exactEvm.facilitator({ signer, rpcUrl })]"
)

const checkOfList = OptionCheck.options<{ readonly schemes: ReadonlyArray<FacilitatorScheme> }>({ schemes: check })

/**
 * A registry of schemes that are connected. Two for one scheme and network are a mistake, and so is an empty list.
 */
export const make: (
  schemes: ReadonlyArray<SchemeFacilitator>
) => Result.Result<FacilitatorSchemeRegistry["Service"], Misconfigured> = SchemeRegistry.make

/** The registry as a layer. All schemes connect at once; the layer fails with the first that cannot. */
export const layer = (
  schemes: ReadonlyArray<FacilitatorScheme>
): Layer.Layer<FacilitatorSchemeRegistry, Misconfigured | ChainUnavailable> =>
  Layer.effect(
    FacilitatorSchemeRegistry,
    Effect.gen(function* () {
      const checked = yield* Effect.fromResult(OptionCheck.read(checkOfList, { schemes }))
      const connected = yield* Effect.all(checked.schemes, { concurrency: "unbounded" })
      return yield* Effect.fromResult(make(connected))
    })
  )
