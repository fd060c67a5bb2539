/** Routes that a hostile payer or shop has made up, against the facilitator and the client. */
import { assert, describe, it } from "@effect/vitest"
import type { PaymentRequirements, Preparation, PreparedTransaction, SchemeFacilitator } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { concatHex, encodeFunctionData, type Hex, numberToHex, parseAbi, parseSignature, parseTransaction } from "viem"

import * as LayerZero from "../../src/bridge/LayerZero.ts"
import * as RoutedSchemes from "../../src/bridge/RoutedSchemes.ts"
import * as RoutedPayments from "./RoutedPayments.ts"

/** The OP Stack's contract with the price of data. */
const gasPriceOracle = "0x420000000000000000000000000000000000000F"

type Offer = PaymentRequirements.PaymentRequirements

const routeIn = ({ extra = {} }: Offer): Readonly<Record<string, unknown>> => {
  const route = extra["route"]
  if (typeof route !== "object" || route === null) throw new Error("the offer has no route")
  return Object.fromEntries(Object.entries(route))
}

/** The offer with other terms of its route. */
const withRoute = (
  offer: Offer,
  change: Readonly<Record<string, string | number>>,
  other: Partial<Offer> = {}
): Offer => ({
  ...offer,
  ...other,
  extra: { ...offer.extra, route: { ...routeIn(offer), ...change } as Record<string, string | number> }
})

const outcomeOf = <A, E extends { readonly _tag: string }>(effect: Effect.Effect<A, E>) =>
  Effect.match(effect, {
    onSuccess: () => "ok",
    onFailure: (error) => ("detail" in error ? String(error.detail) : error._tag)
  })

/** Signs an offer, whatever it says, and presents it to the facilitator for another one. */
const opened = Effect.gen(function* () {
  const routed = yield* RoutedPayments.make()
  const { client, facilitator, first } = routed
  const [payer] = first.accounts.payers
  const offer = yield* routed.offer
  const signed = Effect.fnUntraced(function* (requirements: Offer, by = payer) {
    const buyer = client(by)
    const asset = buyer.asset(requirements)
    if (asset === undefined) return yield* Effect.die(new Error("the buyer does not know the token"))
    const validBefore = Math.floor((yield* Clock.currentTimeMillis) / 1000) + 600
    return yield* buyer.sign({ requirements, asset, validAfter: 0, validBefore, binding: undefined })
  })
  const verified = (requirements: Offer, payload: unknown, one = facilitator) =>
    outcomeOf(Effect.flatMap(one.read(requirements, payload), (payment) => one.verify(payment)))
  return { ...routed, payer, offer, signed, verified }
})

const feeIn = (offer: Offer) => BigInt(String(routeIn(offer)["fee"]))

/** Code that burns an amount of gas, and runs the rest then. */
const burning = (gas: number, rest: Hex) =>
  concatHex(["0x5a5b5a810362", numberToHex(gas, { size: 3 }), "0x11600157", rest])

/** A wallet that burns a million gas and accepts every signature. */
const burner = burning(1_000_000, "0x631626ba7e60e01b60005260206000f3")

/** A contract that burns gas at each call, and runs the code at an address then. */
const slowed = (address: Hex) =>
  burning(120_000, concatHex(["0x3660006000376000600036600073", address, "0x5af43d600060003e603e573d6000fd5b3d6000f3"]))

const valueIn = ({ prepared: { bytes } }: Preparation) => parseTransaction(bytes as `0x${string}`).value ?? 0n

describe("a route", () => {
  it.live("is of the least price by what arrives, whatever its fee is", () =>
    Effect.gen(function* () {
      const { facilitatorBy, first, offer, signed } = yield* opened
      const { payload } = yield* signed(offer)
      const words = yield* Effect.forEach(["$10", "$10.000001"], (minimumPrice) =>
        Effect.flatMap(facilitatorBy(first.accounts.signers[0], first.rpcUrl, minimumPrice), (one) =>
          outcomeOf(Effect.flatMap(one.read(offer, payload), (payment) => one.verify(payment)))
        )
      )
      assert.isAbove(Number(offer.maxAmountRequired), Number(RoutedPayments.price))
      assert.deepStrictEqual(words, ["ok", "below_minimum_price"])
    }).pipe(Effect.scoped)
  )

  it.live("is refused where a part is not the offer's, or not the facilitator's", () =>
    Effect.gen(function* () {
      const { first, offer, signed, verified } = yield* opened
      const { stranger } = first.accounts
      const { payload } = yield* signed(offer)
      assert.strictEqual(yield* verified(offer, payload), "ok")
      const fee = BigInt(String(routeIn(offer)["fee"]))
      const cheap = withRoute(
        offer,
        { fee: "1" },
        { maxAmountRequired: `${BigInt(offer.maxAmountRequired) - fee + 1n}` }
      )
      const small = withRoute(offer, { amount: "10", minimum: "10" }, { maxAmountRequired: `${10n + fee}` })
      const cases: ReadonlyArray<readonly [Offer, string]> = [
        [cheap, "route_fee"],
        [small, "route_amount"],
        [withRoute(offer, { feeTo: stranger.address }), "route_fee_recipient"],
        [withRoute(offer, { options: "0x0003" }), "route_options"]
      ]
      for (const [other, expected] of cases) {
        assert.strictEqual(yield* verified(other, (yield* signed(other)).payload), expected)
        assert.strictEqual(yield* verified(offer, (yield* signed(other)).payload), "route_terms")
      }
      // The shop's own offer, and a payment that was signed for it: refused all the same where it can lead to nothing.
      const own = Effect.fnUntraced(function* (change: Readonly<Record<string, string>>) {
        const other = withRoute(offer, change)
        return yield* verified(other, (yield* signed(other)).payload)
      })
      assert.strictEqual(yield* own({ payTo: String(routeIn(offer)["asset"]) }), "route_recipient")
      assert.strictEqual(yield* verified(withRoute(offer, { payTo: stranger.address }), payload), "route_terms")
      assert.strictEqual(yield* verified(withRoute(offer, { network: first.network }), payload), "route_network")
      assert.strictEqual(yield* verified(withRoute(offer, { network: "eip155:1" }), payload), "route_unserved")
      assert.strictEqual(yield* verified(withRoute(offer, { destination: 0 }), payload), "route_terms")
      assert.strictEqual(yield* verified({ ...offer, extra: {} }, payload), "route_not_offered")
    })
  )

  it.live(
    "on record is read again by its shop's terms alone: whatever fee, never for another place, and for what arrives",
    () =>
      Effect.gen(function* () {
        const { facilitator, first, offer, signed } = yield* opened
        const { stranger } = first.accounts
        const { payload } = yield* signed(offer)
        const read = (requirements: Offer) => outcomeOf(facilitator.read(requirements, payload))
        const recorded = withRoute(
          offer,
          { fee: "0", feeTo: `0x${"0".repeat(40)}`, options: "0x", quotedUntil: 0 },
          { maxAmountRequired: `${RoutedPayments.price}` }
        )
        const { authorization } = yield* facilitator.read(recorded, payload)
        assert.deepStrictEqual(authorization.arrival, { amount: RoutedPayments.price, asked: RoutedPayments.price })
        const dearer = withRoute(recorded, { amount: "10000001" })
        assert.strictEqual((yield* facilitator.read(dearer, payload)).authorization.arrival?.asked, 10_000_001n)
        const places = [
          { payTo: stranger.address },
          { bridge: stranger.address },
          { destination: 30_111 },
          { network: first.network }
        ]
        for (const place of places) assert.include(yield* read(withRoute(recorded, place)), "route_")
      })
  )

  it.live("is signed for sending with the message's price of that moment, and only while its fee covers the cost", () =>
    Effect.gen(function* () {
      const { facilitator, far, first, home, offer, restarted, signed, verified } = yield* opened
      const { payload } = yield* signed(offer)
      const payment = yield* facilitator.read(offer, payload)
      yield* facilitator.verify(payment)
      const [lane = ""] = facilitator.lanes
      const number = yield* facilitator.nextSlot(lane, "known")
      const preparedBy = (by: SchemeFacilitator, replaced?: PreparedTransaction) =>
        Effect.flatMap(by.chainHead, (head) => by.prepare([payment], { lane, number }, head, undefined, replaced))
      const prepared = (replaced?: PreparedTransaction) => preparedBy(facilitator, replaced)
      const usual = yield* prepared()
      // A little dearer: what is sent covers it, of a new transaction and of a replacement.
      yield* home.priceGas((LayerZero.gasPrice * 120n) / 100n)
      const dearer = yield* prepared()
      assert.isAbove(Number(valueIn(dearer)), Number(valueIn(usual)))
      assert.strictEqual(valueIn(yield* prepared(usual.prepared)), valueIn(dearer))
      // While the cost is not known, the value stays; and nothing is signed where it would not cover the message.
      const untold = far.whileDown(prepared(usual.prepared))
      assert.include((yield* Effect.flip(untold)).message, "its bytes stay")
      yield* home.priceGas(LayerZero.gasPrice)
      assert.strictEqual(valueIn(yield* untold), valueIn(usual))
      // A hundred times as dear: nothing is signed, also by a process that starts now, and the payment is refused as a new one.
      yield* home.priceGas(LayerZero.gasPrice * 100n)
      assert.include((yield* Effect.flip(prepared())).message, "it costs")
      assert.include((yield* Effect.flip(prepared(usual.prepared))).message, "it costs")
      assert.include((yield* Effect.flip(preparedBy(yield* restarted))).message, "it costs")
      assert.strictEqual(yield* verified(offer, payload), "route_fee")
      yield* home.priceGas(LayerZero.gasPrice)
      assert.strictEqual(yield* verified(offer, payload), "ok")
      // A transaction from before the rise is not sent again. One that was sent reverts: the payer is not to blame, and may pay again.
      yield* home.priceGas(LayerZero.gasPrice * 2n)
      const { head } = yield* facilitator.chainHead
      assert.strictEqual((yield* facilitator.submit(usual.prepared))._tag, "Outdated")
      const serializedTransaction = usual.prepared.bytes as `0x${string}`
      yield* Effect.promise(() =>
        first.client.request({ method: "eth_sendRawTransaction", params: [serializedTransaction] })
      )
      yield* Effect.promise(() =>
        first.client.waitForTransactionReceipt({ hash: usual.prepared.transaction as `0x${string}` })
      )
      const observe = facilitator.observe([{ payment, since: head.number }], [usual.prepared])
      const reverted = yield* observe
      assert.isDefined(reverted.inclusion)
      yield* home.priceGas(LayerZero.gasPrice)
      const again = yield* signed(offer)
      assert.strictEqual(yield* verified(offer, again.payload), "ok")
    })
  )

  it.live(
    "of an account with code is refused before its gas is measured: no quote and no other payment counts it",
    () =>
      Effect.gen(function* () {
        const { facilitator, first, offer, offerBy, restarted, signed, verified } = yield* opened
        const [, hostile] = first.accounts.payers
        if (hostile === undefined) return assert.fail("the chain has one payer alone")
        const payment = yield* facilitator.read(offer, (yield* signed(offer)).payload)
        yield* facilitator.verify(payment)
        const { payload } = yield* signed(offer, hostile)
        assert.strictEqual(yield* verified(offer, payload), "ok")
        yield* first.setCode(hostile.address, burner)
        const unquoted = yield* restarted
        for (const one of [facilitator, unquoted])
          assert.strictEqual(yield* verified(offer, payload, one), "route_payer_code")
        assert.strictEqual(feeIn(yield* offerBy(unquoted)), feeIn(yield* offerBy(yield* restarted)))
        const [lane = ""] = facilitator.lanes
        const number = yield* facilitator.nextSlot(lane, "known")
        const head = yield* facilitator.chainHead
        assert.strictEqual(yield* outcomeOf(facilitator.prepare([payment], { lane, number }, head)), "ok")
      }).pipe(Effect.scoped)
  )

  it.live("is quoted with the gas of the last payment, also where that was refused since the gas had risen", () =>
    Effect.gen(function* () {
      const { first, lockbox, offer, offerBy, restarted, signed, verified } = yield* opened
      const { client, setCode } = first
      const risen = yield* restarted
      // A fee with half of the quote's margin: it covers the gas as it is before.
      const fee = (feeIn(offer) * 115n) / 130n
      const maxAmountRequired = `${BigInt(offer.maxAmountRequired) - feeIn(offer) + fee}`
      const tight = withRoute(offer, { fee: `${fee}` }, { maxAmountRequired })
      const { payload } = yield* signed(tight)
      assert.strictEqual(yield* verified(tight, payload), "ok")
      const code = yield* Effect.promise(() => client.getCode({ address: lockbox }))
      const elsewhere = first.accounts.stranger.address
      yield* setCode(elsewhere, code ?? "0x")
      yield* setCode(lockbox, slowed(elsewhere))
      assert.strictEqual(yield* verified(tight, payload, risen), "route_fee")
      const dearer = yield* offerBy(risen)
      assert.isAbove(Number(feeIn(dearer)), Number(feeIn(offer)))
      assert.strictEqual(yield* verified(dearer, (yield* signed(dearer)).payload, risen), "ok")
    }).pipe(Effect.scoped)
  )

  it.live("is quoted with a rollup's fee for its data, on either chain", () =>
    Effect.gen(function* () {
      const { first, offer, offerBy, restarted, second } = yield* opened
      const fee = BigInt(String(routeIn(offer)["fee"]))
      // Returns 10^15 wei, three dollars, for whatever data.
      const code = concatHex(["0x7f", numberToHex(10n ** 15n, { size: 32 }), "0x60005260206000f3"])
      for (const [chains, least] of [
        [[first], 3_000_000n],
        [[first, second], 6_000_000n]
      ] as const) {
        for (const { client } of chains)
          yield* Effect.promise(() => client.setCode({ address: gasPriceOracle, bytecode: code }))
        const dearer = BigInt(String(routeIn(yield* offerBy(yield* restarted))["fee"]))
        assert.isAtLeast(Number(dearer - fee), Number(least))
      }
    })
  )

  it.live("is not signed where it leads through a stranger's contracts, or its quote is over", () =>
    Effect.gen(function* () {
      const { client, first, offer, payer, signed } = yield* opened
      const buyer = client(payer)
      const { stranger } = first.accounts
      const asset = buyer.asset(offer)
      if (asset === undefined || buyer.objection === undefined) return assert.fail("the buyer knows no token")
      const { objection } = buyer
      assert.isUndefined(objection(offer, asset))
      const cases: ReadonlyArray<readonly [Offer, RegExp]> = [
        [{ ...offer, payTo: stranger.address }, /knows only the router/],
        [withRoute(offer, { bridge: stranger.address }), /not known to this client/],
        [withRoute(offer, { destination: 30_111 }), /not known to this client/],
        [withRoute(offer, { network: first.network }), /not known to this client/],
        [withRoute(offer, { minimum: "1" }), /lets less arrive/],
        [withRoute(offer, { fee: "1" }), /the offer asks/],
        [withRoute(offer, { fee: "-1" }), /fee of its route is not usable/]
      ]
      for (const [other, expected] of cases) {
        assert.match(objection(other, asset) ?? "", expected)
        assert.match((yield* Effect.flip(signed(other))).message, expected)
      }
      const late = yield* Effect.flip(signed(withRoute(offer, { quotedUntil: 1 })))
      assert.match(late.message, /ended at 1/)
    })
  )

  it.live(
    "does not count as paid where its payer moves the money to the router by a plain transfer of the same nonce",
    () =>
      Effect.gen(function* () {
        const { facilitator, first, offer, payer, signed, verified } = yield* opened
        const { nonce, payload } = yield* signed(offer)
        const payment = yield* facilitator.read(offer, payload)
        const { head } = yield* facilitator.chainHead
        const { address: verifyingContract, name, version } = first.token
        const validBefore = 2n ** 40n
        const message = {
          from: payer.address,
          to: first.accounts.deployer.address,
          value: BigInt(offer.maxAmountRequired),
          validAfter: 0n,
          validBefore,
          nonce: nonce as `0x${string}`
        }
        const router = offer.payTo as `0x${string}`
        const plain = { ...message, to: router }
        const fields = ["from", "to"].map((field) => ({ name: field, type: "address" }))
        const numbers = ["value", "validAfter", "validBefore"].map((field) => ({ name: field, type: "uint256" }))
        const types = { TransferWithAuthorization: [...fields, ...numbers, { name: "nonce", type: "bytes32" }] }
        const domain = { name, version, chainId: first.chainId, verifyingContract }
        const signature = yield* Effect.promise(() =>
          payer.signTypedData({ domain, types, primaryType: "TransferWithAuthorization", message: plain })
        )
        const { r, s, v = 27n } = parseSignature(signature)
        const abi = parseAbi([
          "function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)"
        ])
        const args = [payer.address, router, plain.value, 0n, validBefore, plain.nonce, Number(v), r, s] as const
        const data = encodeFunctionData({ abi, functionName: "transferWithAuthorization", args })
        const burnt = yield* first.send({ to: verifyingContract, data, from: first.accounts.stranger.address })
        assert.strictEqual(burnt.status, "success")
        assert.strictEqual(yield* verified(offer, payload), "nonce_used")
        yield* first.mine(RoutedPayments.finalityDepth + 1)
        const conclusion = yield* facilitator.conclude({ payment, since: head.number })
        assert.strictEqual(conclusion._tag, "Unused")
        // The same money, moved so before it was presented, buys nothing either.
        const bare = { signature, authorization: { ...(payload as object), ...message } }
        assert.notStrictEqual(yield* verified(offer, bare), "ok")
      })
  )

  it.live("is not served with constants that a chain contradicts: each stops the start, with its name", () =>
    Effect.gen(function* () {
      const routed = yield* RoutedPayments.make()
      const { first, lockbox, second, token } = routed
      const wrongStart = Effect.fnUntraced(function* (change: Partial<RoutedSchemes.Settings>) {
        return (yield* Effect.flip(RoutedSchemes.make(routed, change).facilitator)).message
      })
      const near = { network: first.network, asset: first.token.address, bridge: lockbox, endpointId: 30_110 }
      const far = { network: second.network, asset: token, bridge: token, endpointId: 30_320 }
      const stranger = first.accounts.stranger.address
      assert.match(yield* wrongStart({ bridges: [near, { ...far, bridge: stranger }] }), /no known bridge leads/)
      assert.match(yield* wrongStart({ bridges: [near, { ...far, asset: stranger }] }), /carries .*, not the token/)
      assert.match(yield* wrongStart({ bridges: [{ ...near, endpointId: 7 }, far] }), /has the id 30110, not 7/)
      assert.match(yield* wrongStart({ bridges: [near] }), /no known bridge leads/)
      assert.match(yield* wrongStart({ dollar: false }), /is no dollar; its fee cannot be quoted/)
      // A token without a way to the other network is no matter of routes.
      assert.match(yield* wrongStart({ dollar: false, bridges: [near] }), /no known bridge leads/)
      const only = first.rpcUrl
      assert.match(yield* wrongStart({ urls: { near: second.rpcUrl, far: only } }), /code at .* is missing|decimals/)
    })
  )
})
