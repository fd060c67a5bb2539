/**
 * The cost of signing for a buyer: choose the nonce, sign, encode the header.
 */
import { AsciiJson, Binding, PaymentPayload } from "@pontage/core"
import { EvmNetwork, exactEvm } from "@pontage/evm"
import type { EvmTestChain } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"

import type { Row } from "../Row.ts"

const warmUp = 200
const count = 1000

/** Microseconds of CPU for one payment header. */
export const measure = async (chain: EvmTestChain.Shape): Promise<ReadonlyArray<Row>> => {
  const [signer] = chain.accounts.payers
  const schemeClient = exactEvm.client({ signer, network: chain.network })
  const requirements = {
    scheme: "exact",
    network: EvmNetwork.fromChainId(chain.chainId),
    maxAmountRequired: "10000",
    resource: "https://shop.example/report",
    payTo: chain.accounts.payee.address,
    asset: chain.token.address
  }
  const asset = schemeClient.asset(requirements)
  if (asset === undefined) throw new Error("the local chain's token is not known")
  const header = Effect.gen(function* () {
    const binding = yield* Binding.make("a-challenge-of-forty-three-characters-of-64")
    const signed = yield* schemeClient.sign({ requirements, asset, validAfter: 0, validBefore: 4_000_000_000, binding })
    return AsciiJson.encode(PaymentPayload.sealPayload("exact", requirements.network, signed.payload))
  })
  await Effect.runPromise(Effect.replicateEffect(header, warmUp))
  const start = process.cpuUsage()
  await Effect.runPromise(Effect.replicateEffect(header, count))
  const { system, user } = process.cpuUsage(start)
  return [{ name: "client signing, one payment header", value: (user + system) / count, unit: "µs CPU" }]
}
