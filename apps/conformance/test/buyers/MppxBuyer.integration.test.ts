/**
 * The Machine Payments Protocol's own client at our shops, with our facilitator, on the chain: what it buys, what it gets
 * again, and what it does not get.
 */
import { assert, layer } from "@effect/vitest"
import * as BaseSepolia from "@pontage/devnet/BaseSepolia"
import * as BaseSepoliaChain from "@pontage/devnet/BaseSepoliaChain"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Challenge, Credential } from "mppx"

import * as MppxBuyer from "../../src/buyers/MppxBuyer.ts"
import * as OurFacilitator from "../../src/facilitators/OurFacilitator.ts"
import { untilOnSale } from "../../src/shops/OnSale.ts"
import * as OurKoaShop from "../../src/shops/OurKoaShop.ts"
import * as OurNestShop from "../../src/shops/OurNestShop.ts"

const shops = { Koa: OurKoaShop, Nest: OurNestShop } as const

const opened = Effect.gen(function* () {
  const chain = yield* BaseSepoliaChain.make
  const { accounts, rpcUrl } = chain.node
  const { url: facilitator } = yield* OurFacilitator.start({ rpcUrl, key: accounts.signers[0].privateKey })
  const open = Effect.fnUntraced(function* (name: keyof typeof shops) {
    const shop = yield* shops[name].start({ facilitator, rpcUrl, payTo: accounts.payee.address, repeat: "same" })
    yield* untilOnSale(shop.url)
    return shop
  })
  return { chain, shops: { Koa: yield* open("Koa"), Nest: yield* open("Nest") } }
})

class Market extends Context.Service<Market, Effect.Success<typeof opened>>()("Market") {}

/** A new payer with the peer's client; what it sent with a payment is kept. */
const payer = Effect.gen(function* () {
  const { chain } = yield* Market
  const { address, key } = yield* chain.payer
  const sent: Array<Headers> = []
  const send: typeof fetch = (input, init) => {
    const headers = new Headers(init?.headers ?? (input instanceof Request ? input.headers : undefined))
    if (headers.has("authorization") || headers.has("payment-signature")) sent.push(headers)
    return fetch(input, init)
  }
  const { rpcUrl } = chain.node
  const buy = MppxBuyer.make({ key, rpcUrl, send })
  /** The credential that the client makes for a path; it is not sent. */
  const credentialFor = (url: string) =>
    Effect.promise(async () => {
      let made = ""
      const keep: typeof fetch = (input, init) => {
        const headers = new Headers(init?.headers ?? (input instanceof Request ? input.headers : undefined))
        made = headers.get("authorization") ?? ""
        return made === "" ? fetch(input, init) : Promise.resolve(new Response("kept"))
      }
      await MppxBuyer.make({ key, rpcUrl, send: keep })(url)
      return made
    })
  const spent = Effect.map(chain.spent(address), (transfers) => transfers.map(({ value }) => value))
  return { buy, credentialFor, sent, spent }
})

const get = (url: string, authorization: string) =>
  Effect.promise(async () => {
    const response = await fetch(url, { headers: { authorization } })
    return { status: response.status, text: await response.text(), headers: response.headers }
  })

layer(Layer.effect(Market, opened), { excludeTestServices: true, timeout: "15 minutes" })("mppx", (it) => {
  for (const name of ["Koa", "Nest"] as const) {
    it.effect(`buys at our ${name} shop, and buys again, each time by one transfer and one run`, () =>
      Effect.gen(function* () {
        const { goods, url } = (yield* Market).shops[name]
        const { buy, sent, spent } = yield* payer
        const before = goods.runs["/report"]
        const receipts: Array<string | undefined> = []
        for (let time = 1; time <= 2; time++) {
          const response = yield* Effect.promise(() => buy(`${url}/report`))
          assert.strictEqual(response.status, 200)
          receipts.push(MppxBuyer.receiptOf(response))
          assert.strictEqual(goods.runs["/report"] - before, time)
          assert.match(sent.at(-1)?.get("authorization") ?? "", /^Payment /)
        }
        assert.strictEqual(new Set(receipts).size, 2)
        assert.deepStrictEqual(yield* spent, [BaseSepolia.amount, BaseSepolia.amount])
      })
    )

    it.effect(
      `gets the same bytes again from our ${name} shop, and nothing for another path, realm, id or amount`,
      () =>
        Effect.gen(function* () {
          const { goods, url } = (yield* Market).shops[name]
          const { buy, sent, spent } = yield* payer
          const first = yield* Effect.promise(async () => (await buy(`${url}/report`)).text())
          const before = { ...goods.runs }
          const authorization = sent[0]?.get("authorization") ?? ""
          const again = yield* get(`${url}/report`, authorization)
          assert.deepStrictEqual([again.status, again.text], [200, first])
          assert.isNotNull(again.headers.get("payment-receipt"))
          const credential = Credential.deserialize(authorization)
          const { challenge } = credential
          const changed = (fields: object) =>
            Credential.serialize(Credential.from({ ...credential, challenge: { ...challenge, ...fields } } as never))
          const others: ReadonlyArray<readonly [string, string]> = [
            [`${url}/other`, authorization],
            [`${url}/report?day=2`, authorization],
            [`${url}/report`, changed({ realm: "other.example" })],
            [`${url}/report`, changed({ id: `A${challenge.id.slice(1)}` })],
            [`${url}/report`, changed({ request: { ...challenge.request, amount: "1" } })],
            [`${url}/report`, `${authorization.slice(0, -8)}AAAAAAAA`]
          ]
          for (const [target, header] of others) {
            const { status } = yield* get(target, header)
            assert.include([402, 409], status)
          }
          assert.deepStrictEqual(goods.runs, before)
          assert.deepStrictEqual(yield* spent, [BaseSepolia.amount])
        })
    )

    it.effect(`sends one credential 16 times at once to our ${name} shop: one run, one transfer`, () =>
      Effect.gen(function* () {
        const { goods, url } = (yield* Market).shops[name]
        const { credentialFor, spent } = yield* payer
        const before = goods.runs["/other"]
        const authorization = yield* credentialFor(`${url}/other`)
        const all = yield* Effect.forEach(Array.from({ length: 16 }), () => get(`${url}/other`, authorization), {
          concurrency: "unbounded"
        })
        assert.isTrue(all.some(({ status }) => status === 200))
        assert.isTrue(all.every(({ status }) => status === 200 || status === 409))
        assert.strictEqual(goods.runs["/other"] - before, 1)
        assert.deepStrictEqual(yield* spent, [BaseSepolia.amount])
      })
    )
  }

  it.effect("reads every challenge of ours as we wrote it", () =>
    Effect.gen(function* () {
      const { url } = (yield* Market).shops.Koa
      const ids = new Set<string>()
      for (let time = 0; time < 100; time++) {
        const response = yield* Effect.promise(() => fetch(`${url}/report?${time}`))
        const challenge = Challenge.fromResponse(response)
        ids.add(challenge.id)
        assert.strictEqual(challenge.realm, new URL(url).host)
        assert.deepInclude(challenge.request, { amount: "10000", currency: BaseSepolia.token })
        assert.isAbove(Date.parse(challenge.expires ?? ""), Date.now())
      }
      assert.strictEqual(ids.size, 100)
    })
  )
})
