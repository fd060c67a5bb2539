/** Payments to an inventory that a hostile payer or shop has made up, against the facilitator and the client, on two real chains. */
import { assert, describe, it } from "@effect/vitest"
import { Network, type PaymentRequirements, type SchemeClient } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import { exactEvm } from "../../src/index.ts"
import * as EvmTestChain from "../../src/testing/EvmTestChain.ts"

const price = 10_000_000n
const fee = 50_000n

type Offer = PaymentRequirements.PaymentRequirements

const inventoryIn = ({ extra = {} }: Offer): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(Object(extra["inventory"])))

/** The offer with other terms of its inventory. */
const withTerms = (offer: Offer, change: Readonly<Record<string, string>>, other: Partial<Offer> = {}): Offer => ({
  ...offer,
  ...other,
  extra: { ...offer.extra, inventory: { ...inventoryIn(offer), ...change } as Record<string, string> }
})

const outcomeOf = <A, E extends { readonly _tag: string }>(effect: Effect.Effect<A, E>) =>
  Effect.match(effect, {
    onSuccess: () => "ok",
    onFailure: (error) => ("detail" in error ? String(error.detail) : error._tag)
  })

const opened = Effect.gen(function* () {
  const [first, second] = yield* Effect.all([EvmTestChain.make(), EvmTestChain.make({ chainId: 31_338 })])
  const { payee, payers, signers, stranger } = first.accounts
  const operator = signers[3]
  const assets = [
    { network: first.network, ...first.token },
    { network: second.network, ...second.token }
  ]
  const settings = (terms: object = {}) => ({
    signer: signers[0],
    rpcUrl: first.rpcUrl,
    assets,
    finalityDepth: 2,
    inventory: {
      signer: operator,
      pairs: [
        {
          to: { network: second.network, rpcUrl: second.rpcUrl },
          fee,
          minimumAmount: 1_000_000n,
          maximumAmount: 20_000_000n,
          perDay: 100_000_000n,
          ...terms
        }
      ]
    }
  })
  yield* second.mint(operator.address, 100_000_000n)
  const facilitator = yield* exactEvm.facilitator(settings())
  const server = exactEvm.server({ rpcUrl: first.rpcUrl, network: first.network, assets })
  const asset = server.asset(Network.make(first.network), undefined)
  if (asset === undefined || server.onward === undefined || facilitator.quotes === undefined) {
    return yield* Effect.die(new Error("the schemes serve no inventory"))
  }
  const option = { asset, payTo: payee.address, network: second.network, arriving: undefined }
  const offers = yield* Effect.orDie(Effect.fromResult(server.onward({ ...option, inventory: operator.address })))
  const quoted = offers.quoted(price, yield* facilitator.quotes)?.offer
  if (quoted === undefined) return yield* Effect.die(new Error("no quote is for the shop's option"))
  const offer: Offer = {
    scheme: "exact",
    network: Network.make(first.network),
    maxAmountRequired: `${quoted.amount}`,
    resource: "https://shop.example/report",
    payTo: quoted.payTo,
    asset: asset.address,
    extra: { ...asset.extra, ...quoted.extra }
  }
  const clientOf = (...inventories: ReadonlyArray<string>): SchemeClient =>
    exactEvm.client({
      signer: payers[0],
      network: first.network,
      assets,
      routes: exactEvm.routes({ inventories })
    })
  const signed = Effect.fnUntraced(function* (requirements: Offer, seconds = 600) {
    const client = clientOf(operator.address, stranger.address)
    const validBefore = Math.floor((yield* Clock.currentTimeMillis) / 1000) + seconds
    return yield* client.sign({ requirements, asset, validAfter: 0, validBefore, binding: undefined })
  })
  const verifiedBy = (one: typeof facilitator, requirements: Offer, payload: unknown) =>
    outcomeOf(Effect.flatMap(one.read(requirements, payload), (payment) => one.verify(payment)))
  const verified = (requirements: Offer, payload: unknown) => verifiedBy(facilitator, requirements, payload)
  return {
    first,
    second,
    operator,
    settings,
    facilitator,
    asset,
    server,
    option,
    offer,
    clientOf,
    signed,
    verified,
    verifiedBy
  }
})

describe("a payment to an inventory", () => {
  it.live("is refused where a part is not the offer's, or not the facilitator's", () =>
    Effect.gen(function* () {
      const { asset, first, offer, operator, second, signed, verified } = yield* opened
      const { stranger } = first.accounts
      const { payload } = yield* signed(offer)
      assert.strictEqual(yield* verified(offer, payload), "ok")
      const amountOf = (amount: bigint, paid = fee) => ({
        ...withTerms(offer, { amount: `${amount}`, fee: `${paid}` }),
        maxAmountRequired: `${amount + paid}`
      })
      const own: ReadonlyArray<readonly [Offer, string]> = [
        [amountOf(price, fee - 1n), "inventory_fee"],
        [amountOf(999_999n), "inventory_amount"],
        [amountOf(20_000_001n), "inventory_amount"],
        [{ ...offer, payTo: stranger.address }, "inventory_account"],
        [withTerms(offer, { asset: stranger.address }), "inventory_unserved"],
        [withTerms(offer, { network: "eip155:1" }), "inventory_unserved"],
        [withTerms(offer, { payTo: operator.address }), "inventory_recipient"],
        [withTerms(offer, { payTo: second.token.address }), "inventory_recipient"],
        [withTerms(offer, { payTo: stranger.address.toLowerCase() }), "inventory_recipient"],
        [withTerms(offer, { payTo: `0x${"0".repeat(40)}` }), "inventory_recipient"]
      ]
      for (const [other, expected] of own) {
        assert.strictEqual(yield* verified(other, (yield* signed(other)).payload), expected)
        assert.notStrictEqual(yield* verified(offer, (yield* signed(other)).payload), "ok")
      }
      // Its payer could take the money away, and hold the stock until it ends.
      assert.strictEqual(yield* verified(offer, (yield* signed(offer, 900)).payload), "inventory_valid_too_long")
      // A payer or a shop that changes the route after it was signed, and one that leaves it out.
      const changes = [
        { recipient: stranger.address },
        { network: "eip155:1" },
        { asset: stranger.address },
        { amount: `${price + fee}`, fee: "0" },
        { fee: "0" },
        { tag: `0x${"7".repeat(64)}` }
      ]
      for (const change of changes) {
        const inventory = { ...Object(Object(payload)["inventory"]), ...change }
        assert.strictEqual(yield* verified(offer, { ...Object(payload), inventory }), "inventory_nonce")
      }
      const { inventory: _, ...bare } = Object(payload)
      assert.strictEqual(yield* verified(offer, bare), "inventory_missing")
      assert.strictEqual(yield* verified({ ...offer, extra: {} }, payload), "inventory_not_offered")
      // An ordinary payment to the operator would be taken, and the shop would get nothing.
      assert.strictEqual(yield* verified({ ...offer, extra: asset.extra ?? {} }, bare), "inventory_missing")
      assert.strictEqual(yield* verified(withTerms(offer, { network: first.network }), payload), "inventory_network")
      assert.strictEqual(yield* verified(withTerms(offer, { amount: "1e3" }), payload), "inventory_terms")
    }).pipe(Effect.scoped)
  )

  it.live("on record is read again by its shop's place alone, and for what arrives", () =>
    Effect.gen(function* () {
      const { facilitator, first, offer, option, server, operator, signed } = yield* opened
      const { payload } = yield* signed(offer)
      const offers = server.onward?.({ ...option, inventory: operator.address })
      const recorded = offers?._tag === "Success" ? offers.success.onRecord(price + 1n) : undefined
      const today = { ...offer, extra: { ...offer.extra, ...recorded?.extra }, maxAmountRequired: `${price + 1n}` }
      const { authorization } = yield* facilitator.read(today, payload)
      assert.deepStrictEqual(authorization.arrival, { amount: price, asked: price + 1n })
      const elsewhere = withTerms(today, { payTo: first.accounts.stranger.address })
      assert.strictEqual(yield* outcomeOf(facilitator.read(elsewhere, payload)), "inventory_terms")
    }).pipe(Effect.scoped)
  )

  it.live("is signed for accounts that the payer has named alone, and while its quote holds", () =>
    Effect.gen(function* () {
      const { asset, clientOf, first, offer, operator, signed } = yield* opened
      const trusting = clientOf(operator.address)
      const objection = (client: SchemeClient, requirements: Offer = offer) => client.objection?.(requirements, asset)
      assert.isUndefined(objection(trusting))
      assert.include(objection(clientOf()), "if you trust that operator")
      const plain = exactEvm.client({ signer: first.accounts.payers[0], network: first.network })
      assert.include(objection(plain), "exactEvm.routes()")
      const stranger = { ...offer, payTo: first.accounts.stranger.address }
      assert.include(objection(trusting, stranger), "if you trust that operator")
      assert.include(objection(trusting, { ...offer, maxAmountRequired: "1" }), "the offer asks 1")
      assert.include(objection(trusting, withTerms(offer, { network: first.network })), "is no other network")
      const old = { ...offer, extra: { ...offer.extra, inventory: { ...Object(inventoryIn(offer)), quotedUntil: 1 } } }
      const { message } = yield* Effect.flip(signed(old))
      assert.include(message, "ended at 1")
      assert.throws(() => exactEvm.routes({ inventories: ["operator"] }), /is not an address/)
    }).pipe(Effect.scoped)
  )

  it.live("is not served by settings that contradict the chains or themselves", () =>
    Effect.gen(function* () {
      const { first, second, settings } = yield* opened
      const to = { network: second.network, rpcUrl: second.rpcUrl }
      const cases: ReadonlyArray<readonly [object, string]> = [
        [{ to: { ...to, network: "tron:mainnet" } }, "another family is given as to.payouts"],
        [{ to: { ...to, network: "eip155:137" } }, "the RPC configured for eip155:137 serves eip155:31338"],
        [{ to: { ...to, network: first.network } }, "is the network that is paid on"],
        [{ to: { ...to, asset: "EURC" } }, "the token EURC"],
        [{ maximumAmount: 100_000_001n }, "have to rise in this order"],
        [{ to: { ...to, fees: 1n } }, "fees"],
        [{ perDay: 1.5 }, "perDay"]
      ]
      for (const [terms, expected] of cases) {
        const { message } = yield* Effect.flip(exactEvm.facilitator(settings(terms) as never))
        assert.include(message, expected)
      }
      const twice = settings()
      const [pair] = twice.inventory.pairs
      const inventory = { ...twice.inventory, pairs: [pair, pair] } as typeof twice.inventory
      assert.include((yield* Effect.flip(exactEvm.facilitator({ ...twice, inventory }))).message, "is there twice")
    }).pipe(Effect.scoped)
  )
})
