/** One shop on three chains: what it offers, and that every buyer pays on the chain it has a wallet for. */
import { assert, describe, it } from "@effect/vitest"
import { evmLedger, tonLedger, tronLedger } from "@pontage/demo/Ledgers"
import { DevNet } from "@pontage/devnet"
import { exactEvm } from "@pontage/evm"
import { settlementOf, wrapFetch } from "@pontage/fetch"
import { exactTon } from "@pontage/ton"
import { exactTron } from "@pontage/tron"
import * as Effect from "effect/Effect"

import * as TestMarket from "./TestMarket.ts"
import * as TestShops from "./TestShops.ts"

/** The chains, a facilitator of all of them, and a wallet on each. */
const openChains = Effect.gen(function* () {
  const chains = yield* DevNet.make()
  const { evm, ton, tron } = chains
  const onTon = { rpcUrl: ton.rpcUrl, network: ton.network }
  const onTron = { rpcUrl: tron.rpcUrl, network: tron.network }
  const { facilitator } = yield* TestMarket.settling([
    exactEvm.facilitator({ signer: evm.accounts.signers[0], rpcUrl: evm.rpcUrl }),
    exactTon.facilitator({ signer: ton.accounts.relayers[0], ...onTon }),
    exactTron.facilitator(onTron)
  ])
  const [evmPayer] = evm.accounts.payers
  const [tonPayer] = ton.accounts.payers
  const [tronPayer] = tron.accounts.payers
  const ways: ReadonlyArray<TestShops.PaymentWay> = [
    { network: evm.network, payTo: evm.accounts.payee.address, scheme: exactEvm.server({ rpcUrl: evm.rpcUrl }) },
    { network: ton.network, payTo: ton.accounts.payee.raw, scheme: exactTon.server(onTon) },
    { network: tron.network, payTo: tron.accounts.payee.address, scheme: exactTron.server(onTron) }
  ]
  const wallets = [
    { payer: evmPayer.address, wallet: exactEvm.client({ signer: evmPayer, network: evm.network }) },
    { payer: tonPayer.raw, wallet: exactTon.client({ signer: tonPayer, ...onTon }) },
    {
      payer: tronPayer.address,
      wallet: exactTron.client({ signer: exactTron.localSigner(tronPayer.privateKey), ...onTron })
    }
  ]
  const ledgers = [evmLedger(chains), tonLedger(chains), tronLedger(chains)]
  return { told: { facilitator, secret: TestMarket.secret, ways }, ways, wallets, ledgers }
})

const termsOf = ({ network, payTo }: { readonly network: string; readonly payTo: string }) => [network, payTo]

describe.each([
  ["Koa", TestShops.koa],
  ["NestJS", TestShops.nest]
] as const)("a %s shop on three chains", (_, open) => {
  it.live("offers all three, and each buyer picks its own", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { ledgers, ways, told, wallets } = yield* openChains
        const shop = yield* open(told)
        const url = `${shop.origin}/report`
        const unpaid = yield* Effect.promise(() => fetch(url))
        const offer = yield* Effect.promise(() => unpaid.json())
        assert.strictEqual(unpaid.status, 402)
        assert.deepStrictEqual(offer.accepts.map(termsOf), ways.map(termsOf))
        assert.deepStrictEqual(
          offer.accepts.map(({ maxAmountRequired }: { readonly maxAmountRequired: string }) => maxAmountRequired),
          ["10000", "10000", "10000"]
        )
        const paidOn = Effect.forEach(ledgers, ({ payTo, transfers }) =>
          Effect.map(transfers, (all) => all.filter(({ to }) => to === payTo).length)
        )
        const own = yield* Effect.promise(() =>
          Promise.all(
            wallets.map(async ({ wallet }) => {
              const response = await wrapFetch(fetch, { schemes: [wallet] })(url)
              const { amount, network, payer } = settlementOf(response) ?? assert.fail("there is a receipt")
              return { status: response.status, network, payer, amount }
            })
          )
        )
        assert.deepStrictEqual<unknown>(
          own,
          wallets.map(({ payer }, at) => ({ status: 200, network: ways[at]?.network, payer, amount: "10000" }))
        )
        assert.deepStrictEqual(yield* paidOn, [1, 1, 1])
        const rich = wrapFetch(fetch, {
          schemes: wallets.map(({ wallet }) => wallet),
          choose: (quotes) => quotes.find(({ requirements }) => requirements.network === "tron:local")
        })
        yield* Effect.promise(() => rich(url))
        assert.deepStrictEqual(yield* paidOn, [1, 1, 2])
        assert.strictEqual(shop.handlers.reports, 4)
      })
    )
  )
})
