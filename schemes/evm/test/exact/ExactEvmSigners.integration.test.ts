/** The facilitator's own accounts: which are taken, what they have, and how they share the work. */
import { assert, describe, layer } from "@effect/vitest"
import { Facilitator, LocalFacilitator } from "@pontage/core"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

import { exactEvm } from "../../src/index.ts"
import { Delegate7702, EvmTestChain } from "../../src/testing/index.ts"
import * as Payment from "../EvmTestPayment.ts"

const chain = EvmTestChain.EvmTestChain

describe("the signers of exactEvm.facilitator", () => {
  layer(EvmTestChain.layer({ payers: 24 }), { excludeTestServices: true })((it) => {
    it.effect("share the work, each in its own line", () =>
      Effect.gen(function* () {
        const { accounts, network, rpcUrl, token } = yield* chain
        const assets = [Payment.asset(yield* chain)]
        const scheme = exactEvm.facilitator({ signer: accounts.signers, rpcUrl, assets })
        const local = LocalFacilitator.layerMemory({ schemes: [scheme] })
        const facilitator = Context.get(yield* Layer.build(local), Facilitator)
        const addresses = accounts.signers.map(({ address }) => address)
        assert.deepStrictEqual((yield* facilitator.supported).signers, { [network]: addresses })
        const requests = yield* Effect.forEach(accounts.payers, (signer) =>
          Payment.payment({ from: signer.address, signer, requirements: { asset: token.address } })
        )
        yield* Effect.forEach(
          requests,
          (request, index) => facilitator.settle(request, Payment.claim(`share${index}`)),
          { concurrency: "unbounded" }
        )
        const statuses = yield* Effect.forEach(addresses, (address) => Payment.statusesOf(address))
        assert.deepStrictEqual(statuses.flat(), Array(24).fill("success"))
        // The shares are equal only if all payments come before the first one is included.
        for (const own of statuses) assert.isNotEmpty(own)
      })
    )

    it.effect("tell what gas money they have", () =>
      Effect.gen(function* () {
        const { accounts, rpcUrl, setBalance } = yield* chain
        const [, second, third] = accounts.signers
        yield* setBalance(second.address, 5n)
        const { signers } = yield* exactEvm.facilitator({ signer: [second, third, second], rpcUrl })
        const balances = yield* signers
        assert.deepStrictEqual(
          balances.map(({ address }) => address),
          [second.address, third.address]
        )
        assert.strictEqual(balances[0]?.balance, 5n)
      })
    )

    it.effect("are plain accounts, at least one", () =>
      Effect.gen(function* () {
        const { accounts, delegate, deploy, rpcUrl } = yield* chain
        const [, , , fourth] = accounts.signers
        yield* delegate(fourth, yield* deploy(Delegate7702))
        const start = (signer: Parameters<typeof exactEvm.facilitator>[0]["signer"]) =>
          Effect.match(exactEvm.facilitator({ signer, rpcUrl }), {
            onSuccess: () => "started",
            onFailure: ({ _tag, message }) => `${_tag}: ${message}`
          })
        assert.match(yield* start(fourth), /^Misconfigured: .*has code/)
        assert.match(yield* start([accounts.signers[0], fourth]), /^Misconfigured: .*has code/)
        assert.match(yield* start([]), /^Misconfigured: .*at least one signer/)
        assert.match(yield* start({ ...fourth, address: "0x12" }), /^Misconfigured: .*not an address/)
        assert.strictEqual(yield* start(accounts.signers[0]), "started")
      })
    )

    it.effect("settle nothing in the name of a lane that is not theirs", () =>
      Effect.gen(function* () {
        const { accounts } = yield* chain
        const schemeFacilitator = yield* Payment.scheme(yield* chain)
        const payment = yield* Payment.read(schemeFacilitator, yield* Payment.payment())
        const { noop } = schemeFacilitator
        const chainHead = yield* schemeFacilitator.chainHead
        const foreign = { lane: accounts.stranger.address, number: 0n }
        for (const effect of [
          schemeFacilitator.prepare([payment], foreign, chainHead),
          schemeFacilitator.prepare([payment], undefined, chainHead)
        ]) {
          assert.strictEqual((yield* Effect.flip(effect))._tag, "Misconfigured")
        }
        assert.strictEqual((yield* Effect.flip(noop(foreign, chainHead)))._tag, "Misconfigured")
      })
    )

    it.effect("do not sign a payment that does not verify", () =>
      Effect.gen(function* () {
        const { accounts } = yield* chain
        const schemeFacilitator = yield* Payment.scheme(yield* chain)
        const payment = yield* Payment.read(schemeFacilitator, yield* Payment.payment({ signer: accounts.stranger }))
        assert.strictEqual((yield* Effect.flip(Payment.prepareAlone(schemeFacilitator, payment)))._tag, "Misconfigured")
      })
    )
  })
})
