/**
 * The published WDK at our shop, on three local chains: one seed pays on each, its policies are kept, and nothing signs once it is
 * disposed of.
 */
import { readFileSync } from "node:fs"
import { createServer } from "node:http"

import { assert, layer } from "@effect/vitest"
import { Router } from "@koa/router"
import { LocalFacilitator } from "@pontage/core"
import { DevNet } from "@pontage/devnet"
import { listen } from "@pontage/devnet/LoopbackServer"
import { EvmAddress, exactEvm } from "@pontage/evm"
import * as FacilitatorService from "@pontage/facilitator"
import { settlementOf } from "@pontage/fetch"
import { paymentMiddleware } from "@pontage/koa"
import { exactTon, TonAddress } from "@pontage/ton"
import { exactTron } from "@pontage/tron"
import { type TonAccount, wdkBuyer } from "@pontage/wdk"
import WDK from "@tetherto/wdk"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import Koa from "koa"

import * as WdkBuyer from "../../src/buyers/WdkBuyer.ts"
import { untilOnSale } from "../../src/shops/OnSale.ts"

const read = (path: string) => readFileSync(new URL(`../../../../${path}`, import.meta.url), "utf8")

const secret = "a secret of at least thirty-two characters"

const opened = Effect.gen(function* () {
  const chains = yield* DevNet.make()
  const { evm, ton, tron } = chains
  const onTon = { rpcUrl: ton.rpcUrl, network: ton.network }
  const onTron = { rpcUrl: tron.rpcUrl, network: tron.network }
  const local = LocalFacilitator.layerMemory({
    schemes: [
      exactEvm.facilitator({ signer: evm.accounts.signers[0], rpcUrl: evm.rpcUrl }),
      exactTon.facilitator({ signer: ton.accounts.relayers[0], ...onTon }),
      exactTron.facilitator(onTron)
    ]
  })
  const facilitator = yield* FacilitatorService.serve({ port: 0, stopTimeoutMillis: 1 }).pipe(
    Effect.provide(yield* Layer.build(local))
  )
  const router = new Router().get("/report", (context) => void (context.body = "the report"))
  const server = createServer()
  const shop = yield* listen(server)
  const payment = paymentMiddleware({
    origin: shop,
    facilitator: facilitator.url,
    secret,
    schemes: [exactEvm.server({ rpcUrl: evm.rpcUrl }), exactTon.server(onTon), exactTron.server(onTron)],
    router,
    routes: {
      "GET /report": {
        accepts: [
          { scheme: "exact", network: evm.network, price: "$0.01", payTo: evm.accounts.payee.address },
          { scheme: "exact", network: ton.network, price: "$0.01", payTo: ton.accounts.payee.raw },
          { scheme: "exact", network: tron.network, price: "$0.01", payTo: tron.accounts.payee.address }
        ]
      }
    }
  })
  server.on("request", new Koa().use(payment).use(router.routes()).callback())
  yield* Effect.addFinalizer(() => Effect.promise(() => payment.close()))
  yield* untilOnSale(shop)
  return { chains, url: `${shop}/report`, onTon, onTron }
})

class Market extends Context.Service<Market, Effect.Success<typeof opened>>()("Market") {}

/** A new seed whose accounts own tokens. */
const payer = Effect.gen(function* () {
  const { chains, onTon, onTron } = yield* Market
  const { evm, ton, tron } = chains
  const seedPhrase = WDK.getRandomSeedPhrase(12)
  const { pay, wdk } = yield* Effect.promise(() =>
    WdkBuyer.open({ seedPhrase, evm: { network: evm.network }, ton: onTon, tron: onTron })
  )
  const { addresses } = pay
  const onTonAddress = TonAddress.fromText(addresses.ton ?? "") ?? assert.fail("the buyer has an address on TON")
  yield* evm.mint(
    EvmAddress.fromText(addresses.evm ?? "") ?? assert.fail("the buyer has an address on EVM"),
    1_000_000n
  )
  yield* ton.mint(TonAddress.toCore(onTonAddress), 1_000_000n)
  yield* tron.mint(addresses.tron ?? "", 1_000_000n)
  return { addresses, onTonAddress, pay, wdk }
})

/** Sends TRX to an account for the fees of one payment. */
const withFees = Effect.fnUntraced(function* (address: string | undefined) {
  const { tron } = (yield* Market).chains
  const fields = { to_address: address ?? "", amount: "100000000" }
  const rich = tron.accounts.payers[1] ?? assert.fail("the chain has a second payer")
  yield* tron.send({ contract: "TransferContract", fields }, rich)
})

const networks = Effect.map(Market, ({ chains: { evm, ton, tron } }) => ({
  evm: evm.network,
  ton: ton.network,
  tron: tron.network
}))

/** A buyer from the payer's WDK as it is now, on one family alone. */
const buyerOn = Effect.fnUntraced(function* (wdk: WDK, family: "evm" | "ton" | "tron") {
  const { chains, onTon, onTron } = yield* Market
  const accounts = {
    evm: { evm: { wallet: "ethereum", network: chains.evm.network } },
    ton: { ton: { wallet: "ton", ...onTon } },
    tron: { tron: { wallet: "tron", ...onTron } }
  }
  return yield* Effect.promise(() => wdkBuyer(wdk, { accounts: accounts[family] }))
})

/** An account of the WDK; its published types leave the account's own methods out. */
const accountOf = async (wdk: WDK, wallet: string) =>
  (await (wdk.getAccount(wallet, 0) as Promise<unknown>)) as TonAccount

/** The response's status, or the message of the rejection. */
const attempt = (pay: (url: string) => Promise<Response>, url: string) =>
  Effect.promise(async () => {
    try {
      const response = await pay(url)
      return `${response.status} ${await response.text()}`
    } catch (error) {
      return error instanceof Error ? error.message : String(error)
    }
  })

layer(Layer.effect(Market, opened), { excludeTestServices: true })("a WDK", (it) => {
  for (const family of ["evm", "ton", "tron"] as const) {
    it.effect(`pays on ${family} from its own account`, () =>
      Effect.gen(function* () {
        const { url } = yield* Market
        const { onTonAddress, pay, wdk } = yield* payer
        if (family === "tron") yield* withFees(pay.addresses.tron)
        const alone = yield* buyerOn(wdk, family)
        assert.deepStrictEqual(alone.addresses, { [family]: pay.addresses[family] })
        const response = yield* Effect.promise(() => alone(url))
        const receipt = settlementOf(response)
        assert.strictEqual(response.status, 200)
        assert.strictEqual(receipt?.network, (yield* networks)[family])
        assert.strictEqual(receipt?.payer, family === "ton" ? onTonAddress : pay.addresses[family])
      })
    )
  }

  it("is shown in the package's README as it is opened here", () => {
    const shown = /<!-- from (\S+) -->\n\n```ts\n([\s\S]*?)```/.exec(read("adapters/wdk/README.md"))
    assert.include(read(shown?.[1] ?? ""), shown?.[2] ?? "a sample")
  })

  it.effect("pays from all families by one fetch", () =>
    Effect.gen(function* () {
      const { url } = yield* Market
      const { pay } = yield* payer
      assert.strictEqual(yield* attempt(pay, url), "200 the report")
    })
  )

  it.effect("has the address of its TON wallet on mainnet", () =>
    Effect.gen(function* () {
      const { onTon } = yield* Market
      const { wdk } = yield* payer
      const own = yield* Effect.promise(async () => (await accountOf(wdk, "ton")).getAddress())
      const { addresses } = yield* Effect.promise(() =>
        wdkBuyer(wdk, { accounts: { ton: { wallet: "ton", network: "ton:mainnet", rpcUrl: onTon.rpcUrl } } })
      )
      assert.strictEqual(addresses.ton, own)
    })
  )

  it.effect("takes the account of a path as that of its index", () =>
    Effect.gen(function* () {
      const { wdk } = yield* payer
      const [byIndex, byPath] = yield* Effect.promise(() =>
        Promise.all(
          [{ index: 3 }, { path: "0'/0/3" }].map((place) =>
            wdkBuyer(wdk, { accounts: { evm: { wallet: "ethereum", ...place } } })
          )
        )
      )
      assert.match(byIndex?.addresses.evm ?? "", /^0x/)
      assert.deepStrictEqual(byPath?.addresses, byIndex?.addresses)
    })
  )

  const operations = { evm: "signTypedData", ton: "transfer", tron: "signTransaction" } as const
  const wallets = { evm: "ethereum", ton: "ton", tron: "tron" } as const

  for (const family of ["evm", "ton", "tron"] as const) {
    it.effect(`keeps its policies on ${family}`, () =>
      Effect.gen(function* () {
        const { chains, url } = yield* Market
        const { pay, wdk } = yield* payer
        if (family === "tron") yield* withFees(pay.addresses.tron)
        const asked: Array<unknown> = []
        let action = false
        wdk.registerPolicy({
          id: "by-hand",
          name: "by hand",
          scope: "project",
          wallet: wallets[family],
          rules: [
            {
              name: "allowed",
              operation: operations[family],
              action: "ALLOW",
              conditions: [
                ({ params }) => {
                  asked.push(params)
                  return action
                }
              ]
            }
          ]
        })
        const governed = yield* buyerOn(wdk, family)
        const refused = yield* attempt(governed, url)
        assert.notMatch(refused, /^200/)
        action = true
        assert.strictEqual(yield* attempt(governed, url), "200 the report")
        assert.isAtLeast(asked.length, 2)
        if (family !== "ton") return
        const payee = TonAddress.fromText(chains.ton.accounts.payee.raw) ?? assert.fail("the payee has an address")
        const recipient = TonAddress.toCore(payee).toString({ bounceable: false })
        const token = TonAddress.toCore(TonAddress.fromText(chains.ton.jetton.raw) ?? assert.fail("a token")).toString()
        assert.deepStrictEqual(asked.at(-1), { token, recipient, amount: 10_000n })
      })
    )

    it.effect(`refuses what its policies do not name on ${family}`, () =>
      Effect.gen(function* () {
        const { url } = yield* Market
        const { wdk } = yield* payer
        wdk.registerPolicy({
          id: "other",
          name: "other",
          scope: "project",
          wallet: wallets[family],
          rules: [{ name: "approvals alone", operation: "approve", action: "ALLOW", conditions: [] }]
        })
        assert.notMatch(yield* attempt(yield* buyerOn(wdk, family), url), /^200/)
      })
    )

    it.effect(`signs nothing on ${family} once it is disposed of`, () =>
      Effect.gen(function* () {
        const { url } = yield* Market
        const { wdk } = yield* payer
        const alone = yield* buyerOn(wdk, family)
        wdk.dispose()
        assert.notMatch(yield* attempt(alone, url), /^200/)
      })
    )
  }

  it.effect("is refused a wallet of another family", () =>
    Effect.gen(function* () {
      const { wdk } = yield* payer
      const mixed = Effect.tryPromise(() => wdkBuyer(wdk, { accounts: { evm: { wallet: "tron" } } }))
      const { cause } = yield* Effect.flip(mixed)
      assert.match(String(cause), /the WDK's wallet "tron" gave something else than an EVM account/)
    })
  )
})
