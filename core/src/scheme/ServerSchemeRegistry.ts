/**
 * The schemes that a shop sells by, one per network: `ServerSchemeRegistry.layer([exactEvm.server({ rpcUrl })])`.
 * `PaymentGate` and the facilitator clients that keep claims take it from the context; `Seller` provides it from its option
 * `schemes`.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"

import * as OptionCheck from "../protocol/OptionCheck.ts"
import type { Misconfigured } from "../protocol/ProtocolError.ts"
import * as SchemeRegistry from "./SchemeRegistry.ts"
import type { SchemeServer } from "./SchemeServer.ts"

/** The service. */
export class ServerSchemeRegistry extends Context.Service<
  ServerSchemeRegistry,
  SchemeRegistry.SchemeRegistry<SchemeServer>
>()("@pontage/core/ServerSchemeRegistry") {}

/** Checks the list, for options that take it as a plain value. */
export const check: OptionCheck.Check<ReadonlyArray<SchemeServer>> = /* @__PURE__ */ OptionCheck.list(
  /* @__PURE__ */ OptionCheck.having("a scheme server, such as exactEvm.server({ ... })", "scheme", "asset", "prove"),
  "[exactEvm.server({ rpcUrl })]"
)

const checkOfList = /* @__PURE__ */ OptionCheck.options<{ readonly schemes: ReadonlyArray<SchemeServer> }>({
  schemes: check
})

/** A registry of these schemes. Two for one scheme and network are a mistake, and so is an empty list. */
export const make = (
  schemes: ReadonlyArray<SchemeServer>
): Result.Result<ServerSchemeRegistry["Service"], Misconfigured> =>
  Result.flatMap(OptionCheck.read(checkOfList, { schemes }), (read) => SchemeRegistry.make(read.schemes))

/** The registry as a layer. */
export const layer = (schemes: ReadonlyArray<SchemeServer>): Layer.Layer<ServerSchemeRegistry, Misconfigured> =>
  Layer.effect(
    ServerSchemeRegistry,
    Effect.suspend(() => Effect.fromResult(make(schemes)))
  )
