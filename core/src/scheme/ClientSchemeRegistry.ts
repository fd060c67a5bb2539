/**
 * The schemes that a payer signs by, one per network: `ClientSchemeRegistry.layer([exactEvm.client({ signer, network })])`.
 * `PaymentClient` takes it from the context; `Buyer` provides it from its option `schemes`.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"

import * as OptionCheck from "../protocol/OptionCheck.ts"
import type { Misconfigured } from "../protocol/ProtocolError.ts"
import type { SchemeClient } from "./SchemeClient.ts"
import * as SchemeRegistry from "./SchemeRegistry.ts"

/** The service. */
export class ClientSchemeRegistry extends Context.Service<
  ClientSchemeRegistry,
  SchemeRegistry.SchemeRegistry<SchemeClient>
>()("@pontage/core/ClientSchemeRegistry") {}

/** Checks the list, for options that take it as a plain value. */
export const check: OptionCheck.Check<ReadonlyArray<SchemeClient>> = /* @__PURE__ */ OptionCheck.list(
  /* @__PURE__ */ OptionCheck.having(
    "a scheme client, such as exactEvm.client({ ... })",
    "scheme",
    "network",
    "asset",
    "sign"
  ),
  "[exactEvm.client({ signer, network })]"
)

const checkOfList = /* @__PURE__ */ OptionCheck.options<{ readonly schemes: ReadonlyArray<SchemeClient> }>({
  schemes: check
})

/** A registry of these schemes. Two for one scheme and network are a mistake, and so is an empty list. */
export const make = (
  schemes: ReadonlyArray<SchemeClient>
): Result.Result<ClientSchemeRegistry["Service"], Misconfigured> =>
  Result.flatMap(OptionCheck.read(checkOfList, { schemes }), (read) => SchemeRegistry.make(read.schemes))

/** The registry as a layer. */
export const layer = (schemes: ReadonlyArray<SchemeClient>): Layer.Layer<ClientSchemeRegistry, Misconfigured> =>
  Layer.effect(
    ClientSchemeRegistry,
    Effect.suspend(() => Effect.fromResult(make(schemes)))
  )
