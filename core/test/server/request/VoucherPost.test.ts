/** The shop's voucher URL, over a facilitator that notes for whom it was asked. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

import { CurrentBuyer } from "../../../src/facilitator/CurrentBuyer.ts"
import { type ChannelCredits, Facilitator } from "../../../src/facilitator/Facilitator.ts"
import * as ServerSchemeRegistry from "../../../src/scheme/ServerSchemeRegistry.ts"
import * as PaymentGate from "../../../src/server/PaymentGate.ts"
import * as VoucherRoute from "../../../src/server/route/VoucherRoute.ts"
import * as PriceResolver from "../../../src/server/shop/PriceResolver.ts"
import * as FakeFacilitator from "../FakeFacilitator.ts"
import * as FakeScheme from "../FakeScheme.ts"
import { payment, request } from "../GateTestRequest.ts"

const scheme = "batch-settlement"
const network = "eip155:8453"
const voucherPath = "/payment-voucher"
const standing = { channelId: "0xc", owed: 0n, accepted: 1n, published: 0n, balance: 9n, facts: {} }

const server = FakeScheme.evm(network)
const channels = { ...server, scheme: { ...server.scheme, name: scheme }, draws: { receipt: () => ({}) } }

describe("a voucher that a buyer sends to its URL", () => {
  it.effect("is shown to the facilitator for the place of its buyer, as payments are", () =>
    Effect.gen(function* () {
      const places: Array<string | undefined> = []
      const voucher: ChannelCredits["voucher"] = () =>
        Effect.map(CurrentBuyer, (buyer) => {
          places.push(buyer)
          return { _tag: "Kept", standing, transaction: "" }
        })
      const kinds = [{ protocolVersion: 2 as const, scheme, network, draws: true as const }]
      const { service } = FakeFacilitator.make({ supported: Effect.succeed({ kinds, signers: {} }) })
      const facilitator = Layer.succeed(Facilitator, {
        ...service,
        credits: { voucher } as unknown as ChannelCredits
      })
      const gate = yield* PaymentGate.make({
        origin: "https://shop.example",
        secret: "the shop's own secret, 32 long...."
      }).pipe(Effect.provide([facilitator, PriceResolver.layerDollar, ServerSchemeRegistry.layer([channels])]))
      const metered = { unit: "token", tick: "$0.0001", window: "$0.01" }
      yield* gate.route("GET /answer", { scheme, network, payTo: FakeScheme.alice, price: "$0.01", metered })
      yield* gate.ready
      const sent = { ...request(voucherPath, payment(undefined, { scheme, network })), method: "POST" }
      const send = (clientAddress?: string) =>
        gate.decide(VoucherRoute.make({ voucherPath }), { ...sent, ...(clientAddress && { clientAddress }) })
      for (const address of ["203.0.113.7", "203.0.113.7", "198.51.100.1", undefined]) {
        const decision = yield* send(address)
        assert.strictEqual(decision._tag === "Refused" && decision.response.status, 200)
      }
      const [first, again, other, unknown] = places
      assert.match(String(first), /^[A-Za-z0-9_-]{22}$/)
      assert.strictEqual(again, first)
      assert.match(String(other), /^[A-Za-z0-9_-]{22}$/)
      assert.notStrictEqual(other, first)
      assert.isUndefined(unknown)
      assert.lengthOf(places, 4)
    })
  )
})
