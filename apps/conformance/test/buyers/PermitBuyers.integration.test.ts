/**
 * Payments by Permit2 between our roles and those of x402: buyers, shops and facilitators of both, in a token with approvals by
 * signature and in one of USDT's shape; and smart accounts as the peer's buyers.
 */
import { assert, layer } from "@effect/vitest"
import * as BaseSepolia from "@pontage/devnet/BaseSepolia"
import * as BaseSepoliaChain from "@pontage/devnet/BaseSepoliaChain"
import { deployCounterfactualSettler, exactEvm } from "@pontage/evm"
import { Permit2Contracts, PlainToken, SmartAccountContracts, SmartAccounts } from "@pontage/evm/testing"
import { settlementOf, wrapFetch } from "@pontage/fetch"
import type { ClientEvmSigner } from "@x402/evm"
import { ExactEvmScheme as ExactEvmClient } from "@x402/evm/exact/client"
import { ExactEvmScheme as ExactEvmServer } from "@x402/evm/exact/server"
import { declareEip2612GasSponsoringExtension } from "@x402/extensions"
import { wrapFetchWithPayment, x402Client } from "@x402/fetch"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type Address, encodeFunctionData, type Hex } from "viem"
import { privateKeyToAccount } from "viem/accounts"

import * as PeerBuyer from "../../src/buyers/PeerBuyer.ts"
import * as OurFacilitator from "../../src/facilitators/OurFacilitator.ts"
import * as PeerFacilitator from "../../src/facilitators/PeerFacilitator.ts"
import type { Shop } from "../../src/shops/Goods.ts"
import { untilOnSale } from "../../src/shops/OnSale.ts"
import * as OurKoaShop from "../../src/shops/OurKoaShop.ts"
import * as OurRoute from "../../src/shops/OurRoute.ts"
import * as PeerExpressShop from "../../src/shops/PeerExpressShop.ts"

const shopNames = ["our shop", "x402's shop"] as const
const facilitatorNames = ["our facilitator", "x402's facilitator"] as const
const buyerNames = ["our buyer", "x402's buyer"] as const

type ShopName = (typeof shopNames)[number]
type FacilitatorName = (typeof facilitatorNames)[number]
type BuyerName = (typeof buyerNames)[number]

/** The goods in the dollar token, whose approvals can be signed, and in the token of USDT's shape. */
const paths = { dollar: "/report", plain: "/other" } as const
type Token = keyof typeof paths

/** Routes of our shop: both tokens by Permit2. */
const ourShop = (plain: Address): OurKoaShop.More => ({
  assets: [
    { network: BaseSepolia.network, address: plain, symbol: "PUSD", decimals: 6, assetTransferMethod: "permit2" }
  ],
  route: (path) => ({
    dialects: OurRoute.x402,
    ...(path === paths.plain
      ? { asset: plain }
      : { asset: BaseSepolia.token, extra: { assetTransferMethod: "permit2" } })
  })
})

/** The same in x402's words. */
const peerShop = (plain: Address): PeerExpressShop.More => ({
  price: (path) => {
    const extra = { assetTransferMethod: "permit2", ...(path === paths.plain ? {} : { name: "USDC", version: "2" }) }
    const asset = path === paths.plain ? plain : BaseSepolia.token
    return { asset, amount: `${BaseSepolia.amount}`, extra }
  },
  extensions: declareEip2612GasSponsoringExtension()
})

const opened = Effect.gen(function* () {
  const chain = yield* BaseSepoliaChain.make
  const { node } = chain
  const { accounts, rpcUrl } = node
  yield* Permit2Contracts.deploy(node)
  yield* SmartAccountContracts.deploy(node)
  const counterfactualSettler = yield* deployCounterfactualSettler({ signer: accounts.deployer, rpcUrl })
  const plain = yield* node.deploy(PlainToken)
  const assets = [{ network: BaseSepolia.network, address: plain, symbol: "PUSD", decimals: 6 }]
  const [first, second] = accounts.signers
  const facilitators: Readonly<Record<FacilitatorName, { readonly url: string }>> = {
    "our facilitator": yield* OurFacilitator.start(
      { rpcUrl, key: first.privateKey },
      { permit2: true, counterfactualSettler, assets }
    ),
    "x402's facilitator": yield* PeerFacilitator.start({ rpcUrl, key: second.privateKey, pollingMillis: 20 })
  }
  const shops = new Map<string, Shop>()
  for (const facilitator of facilitatorNames) {
    const options = { facilitator: facilitators[facilitator].url, rpcUrl, payTo: accounts.payee.address }
    const ours = yield* OurKoaShop.start(options, ourShop(plain))
    yield* untilOnSale(ours.url)
    shops.set(`our shop ${facilitator}`, ours)
    const theirs = yield* PeerExpressShop.open(options, new ExactEvmServer(), peerShop(plain))
    shops.set(`x402's shop ${facilitator}`, theirs)
  }
  const shopOf = (shop: ShopName, facilitator: FacilitatorName) => {
    const found = shops.get(`${shop} ${facilitator}`)
    return found ?? Effect.runSync(Effect.die(`there is no ${shop} with ${facilitator}`))
  }
  return { chain, plain, shopOf, facilitators }
})

class Market extends Context.Service<Market, Effect.Success<typeof opened>>()("Market") {}

/** Paying `fetch`es of one key, and how each reads a receipt. */
const buyers: Readonly<
  Record<
    BuyerName,
    {
      readonly make: (key: Hex, rpcUrl: string, plain: Address) => typeof fetch
      readonly receiptOf: (response: Response) => string | undefined
    }
  >
> = {
  "our buyer": {
    make: (key, rpcUrl, plain) =>
      wrapFetch(fetch, {
        schemes: [
          exactEvm.client({
            signer: exactEvm.localSigner(key),
            network: BaseSepolia.network,
            rpcUrl,
            assets: [{ network: BaseSepolia.network, address: plain, symbol: "PUSD", decimals: 6 }]
          })
        ]
      }),
    receiptOf: (response) => settlementOf(response)?.transaction
  },
  "x402's buyer": {
    make: (key, rpcUrl) => peerBuyer(privateKeyToAccount(key), rpcUrl),
    receiptOf: PeerBuyer.receiptOf
  }
}

const peerBuyer = (signer: ClientEvmSigner, rpcUrl: string): typeof fetch =>
  wrapFetchWithPayment(
    fetch,
    x402Client.fromConfig({
      schemes: [{ network: BaseSepolia.network, client: new ExactEvmClient(signer, { rpcUrl }) }],
      spendControls: false
    })
  )

const mintPlain = Effect.fnUntraced(function* (to: Address) {
  const { chain, plain } = yield* Market
  const data = encodeFunctionData({ abi: PlainToken.abi, functionName: "mint", args: [to, 1_000_000n] })
  yield* chain.node.send({ to: plain, data })
})

layer(Layer.effect(Market, opened), { excludeTestServices: true, timeout: "120 seconds" })("Permit2", (it) => {
  for (const buyer of buyerNames) {
    for (const shop of shopNames) {
      for (const facilitator of facilitatorNames) {
        for (const token of ["dollar", "plain"] as const satisfies ReadonlyArray<Token>) {
          const way = token === "dollar" ? "with an approval by signature" : "in a token of USDT's shape"
          it.effect(`${buyer} pays ${shop} with ${facilitator} ${way}`, () =>
            Effect.gen(function* () {
              const { chain, plain, shopOf } = yield* Market
              const { node } = chain
              const { goods, url } = shopOf(shop, facilitator)
              const { address, key } = yield* chain.payer
              if (token === "plain") {
                yield* mintPlain(address)
                yield* Permit2Contracts.approve(node, address, plain)
              }
              const path = paths[token]
              const before = goods.runs[path]
              const buy = buyers[buyer].make(key, node.rpcUrl, plain)
              const response = yield* Effect.promise(() => buy(`${url}${path}`))
              const text = yield* Effect.promise(() => response.clone().text())
              assert.strictEqual(response.status, 200, text)
              assert.strictEqual(goods.runs[path], before + 1)
              const moved = yield* node.transfers({ token: token === "plain" ? plain : BaseSepolia.token })
              const spent = moved.filter(({ from }) => from === address)
              assert.deepStrictEqual(
                spent.map(({ to, value }) => ({ to, value })),
                [{ to: node.accounts.payee.address, value: BaseSepolia.amount }]
              )
              assert.strictEqual(buyers[buyer].receiptOf(response), spent[0]?.transactionHash)
            })
          )
        }
      }
    }
  }

  it.effect("a payer without an approval is refused with what to approve, by our facilitator and by our client", () =>
    Effect.gen(function* () {
      const { chain, plain, shopOf } = yield* Market
      const { goods, url } = shopOf("our shop", "our facilitator")
      const { address, key } = yield* chain.payer
      yield* mintPlain(address)
      const before = goods.runs[paths.plain]
      const theirs = buyers["x402's buyer"].make(key, chain.node.rpcUrl, plain)
      const response = yield* Effect.promise(() => theirs(`${url}${paths.plain}`))
      assert.strictEqual(response.status, 402)
      assert.match(yield* Effect.promise(() => response.text()), /approve Permit2/)
      const ours = buyers["our buyer"].make(key, chain.node.rpcUrl, plain)
      const failure = yield* Effect.promise(() => ours(`${url}${paths.plain}`).then(String, String))
      assert.match(failure, /PUSD needs an approval of Permit2 first/)
      assert.strictEqual(goods.runs[paths.plain], before)
    })
  )
})

layer(Layer.effect(Market, opened), { excludeTestServices: true, timeout: "120 seconds" })("smart accounts", (it) => {
  it.effect("of x402's buyer pay our facilitator before they are deployed (ERC-6492) and after (ERC-1271)", () =>
    Effect.gen(function* () {
      const { chain, facilitators } = yield* Market
      const { node } = chain
      const { accounts, rpcUrl } = node
      const options = { facilitator: facilitators["our facilitator"].url, rpcUrl, payTo: accounts.payee.address }
      const ours = yield* OurKoaShop.start(options)
      yield* untilOnSale(ours.url)
      const theirs = yield* PeerExpressShop.open(options, new ExactEvmServer())
      const safe = yield* Effect.promise(() => SmartAccounts.safe(node, accounts.stranger))
      yield* Permit2Contracts.callAs(node, accounts.deployer.address, {
        to: BaseSepolia.token,
        data: encodeFunctionData({
          abi: PlainToken.abi,
          functionName: "mint",
          args: [safe.address, 1_000_000n]
        })
      })
      const signer: ClientEvmSigner = {
        address: safe.address,
        signTypedData: (data) => safe.signTypedData(data)
      }
      const buy = peerBuyer(signer, rpcUrl)
      for (const { url } of [ours, theirs]) {
        const response = yield* Effect.promise(() => buy(`${url}/report`))
        assert.strictEqual(response.status, 200, yield* Effect.promise(() => response.clone().text()))
      }
      const mine = wrapFetch(fetch, {
        schemes: [exactEvm.client({ signer: safe, network: BaseSepolia.network })]
      })
      const response = yield* Effect.promise(() => mine(`${theirs.url}/report`))
      assert.strictEqual(response.status, 200)
      assert.lengthOf(yield* chain.spent(safe.address), 3)
    })
  )
})
