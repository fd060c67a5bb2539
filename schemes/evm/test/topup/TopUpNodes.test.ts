/** The ways of top-ups where one of the payer's nodes is silent. */
import { assert, describe, it } from "@effect/vitest"
import { ClientSchemeRegistry, PaymentClient, PaymentJournal } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type Hex, pad, toHex } from "viem"

import * as OftCalls from "../../src/bridge/OftCalls.ts"
import { exactEvm, topUpEvm } from "../../src/index.ts"
import * as EvmBridges from "../../src/route/EvmBridges.ts"
import * as HostileNode from "../HostileNode.ts"

const [arbitrum, optimism, polygon] = ["eip155:42161", "eip155:10", "eip155:137"] as const
const signer = exactEvm.localSigner(`0x${"1".repeat(64)}`)

/** The end of USDT0's bridge on a network. */
const endOn = Effect.fnUntraced(function* (network: string) {
  const bridges = yield* Effect.fromResult(EvmBridges.table([]))
  const end = bridges.on(network).find(({ kind }) => kind === "oft")
  return end ?? (yield* Effect.die(`no bridge on ${network}`))
})

/** A facilitator's quotes from these networks to Polygon. */
const supported = Effect.fnUntraced(function* (...networks: ReadonlyArray<string>) {
  const far = yield* endOn(polygon)
  const kinds = yield* Effect.forEach(networks, (network) =>
    Effect.map(endOn(network), (near) => ({
      protocolVersion: 2,
      x402Version: 2,
      scheme: "exact",
      network,
      quotes: [
        {
          kind: "oft",
          from: near.token,
          network: polygon,
          asset: far.token,
          bridge: near.bridge,
          destination: far.endpointId,
          fee: "500000",
          feeTo: `0x${"9".repeat(40)}`,
          options: "0x",
          minimumAmount: "1",
          quotedUntil: Math.floor(Date.now() / 1000) + 86_400
        }
      ]
    }))
  )
  return { kinds, extensions: [], signers: {} }
})

const endpoint = `0x${"e".repeat(40)}` as const

/** A node of this network, with the OFT and its endpoint, whose accounts have $100 of each token; `wrong` answers by calldata. */
const nodeOf = Effect.fnUntraced(function* (network: string, wrong: Readonly<Record<string, Hex>> = {}) {
  const own = yield* endOn(network)
  const others = yield* Effect.forEach([arbitrum, optimism, polygon], endOn)
  const answers = new Map<string, Hex>([
    [OftCalls.getters.token, OftCalls.toWord(own.token)],
    [OftCalls.getters.endpoint, pad(endpoint)],
    [OftCalls.getters.eid, toHex(own.endpointId, { size: 32 })],
    [OftCalls.getters.decimals, toHex(6, { size: 32 })],
    ...others.map((other) => [OftCalls.peers(other.endpointId), OftCalls.toWord(other.bridge)] as const),
    ...Object.entries(wrong)
  ])
  return yield* HostileNode.make((response, request, incoming) => {
    const [call] = Array.isArray(request.params) ? request.params : []
    const found = answers.get(String(Object(call).data)) ?? toHex(100_000_000, { size: 32 })
    const result = request.method === "eth_chainId" ? toHex(Number(network.slice("eip155:".length))) : found
    return HostileNode.result(result)(response, request, incoming)
  })
})

const silentNode = HostileNode.make((response) => void response.destroy())

/** The network that a top-up of $10 to Polygon would leave. */
const fromOf = Effect.fnUntraced(function* (nodes: Readonly<Record<string, string>>) {
  const quotes = yield* supported(arbitrum, optimism)
  const carrier: typeof fetch = () => Promise.resolve(Response.json(quotes))
  const topUp = topUpEvm.topUps({ signer, facilitator: { url: "https://facilitator.example", fetch: carrier }, nodes })
  const asked: Array<string | undefined> = []
  const confirm = (quote: { readonly topUp?: { readonly from: { readonly network: string } } }) =>
    Effect.sync(() => asked.push(quote.topUp?.from.network) === 0)
  const schemes = [exactEvm.client({ signer, network: "eip155:*" })]
  const layer = PaymentClient.layer({ topUp, confirm, limits: { perRequest: "$1" } }).pipe(
    Layer.provide([ClientSchemeRegistry.layer(schemes), PaymentJournal.layerMemory])
  )
  const order = Effect.flatMap(PaymentClient.PaymentClient, (client) => client.topUp({ to: "polygon", amount: "$10" }))
  const declined = yield* Effect.flip(Effect.provide(order, layer))
  if (declined._tag !== "PaymentDeclined") return yield* Effect.die(declined)
  return { asked, rule: declined.rule, message: declined.message }
})

describe("a top-up", () => {
  it.live("goes by another way where the node of one network is silent", () =>
    Effect.gen(function* () {
      const [silent, near, far] = [yield* silentNode, yield* nodeOf(optimism), yield* nodeOf(polygon)]
      const found = yield* fromOf({ arbitrum: silent.url, optimism: near.url, polygon: far.url })
      assert.deepStrictEqual(found.asked, [optimism])
      assert.strictEqual(found.rule, "confirm_refused")
    })
  )

  it.live("is declined with the node's failure where no other way is left", () =>
    Effect.gen(function* () {
      const [silent, far] = [yield* silentNode, yield* nodeOf(polygon)]
      const found = yield* fromOf({ arbitrum: silent.url, polygon: far.url })
      assert.isEmpty(found.asked)
      assert.strictEqual(found.rule, "top_up_unavailable")
      assert.include(found.message, arbitrum)
    })
  )

  it.live("is not made over a bridge that one of both networks contradicts", () =>
    Effect.gen(function* () {
      const near = yield* nodeOf(optimism)
      const { endpointId } = yield* endOn(optimism)
      for (const [wrong, expected] of [
        [{ [OftCalls.getters.token]: pad("0x07") }, /carries 0x0+7, not the token/],
        [{ [OftCalls.getters.eid]: pad("0x07") }, /has the id 7, not 30109/],
        [{ [OftCalls.peers(endpointId)]: pad("0x07") }, /takes messages of 0x0+7/],
        [{ [OftCalls.getters.decimals]: pad("0x12") }, /does not have 6 decimals/]
      ] as const) {
        const far = yield* nodeOf(polygon, wrong)
        const found = yield* fromOf({ optimism: near.url, polygon: far.url })
        assert.isEmpty(found.asked)
        assert.strictEqual(found.rule, "top_up_unavailable")
        assert.match(found.message, expected)
      }
      // Another way is taken where it is right.
      const contradicting = yield* nodeOf(arbitrum, { [OftCalls.getters.eid]: pad("0x07") })
      const far = yield* nodeOf(polygon)
      const found = yield* fromOf({ arbitrum: contradicting.url, optimism: near.url, polygon: far.url })
      assert.deepStrictEqual(found.asked, [optimism])
    })
  )
})
