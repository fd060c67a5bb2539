/**
 * Buyers with the published WDK (`@tetherto/wdk`): one seed, an account on each chain. Its packages are installed in `wdk` on their first
 * use, because they are many: nothing else here needs them.
 */
import { createRequire } from "node:module"
import { fileURLToPath, pathToFileURL } from "node:url"

import type { DevNet } from "@pontage/devnet"
import { installedBy } from "@pontage/devnet/FirstUse"
import { EvmAddress } from "@pontage/evm"
import { TonAddress } from "@pontage/ton"
import { wdkBuyer, type WdkAccounts, type WdkBuyer, type WdkLike } from "@pontage/wdk"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import type * as Scope from "effect/Scope"

import { evmLedger, tonLedger, tronLedger } from "./Ledgers.ts"
import type { Narrator } from "./Narrator.ts"
import type * as Purchase from "./Purchase.ts"

const script = fileURLToPath(new URL("../scripts/InstallWdk.ts", import.meta.url))

const { resolve } = createRequire(new URL("../wdk/", import.meta.url))

/** The used part of a WDK. Its packages are not there when this is compiled. */
interface Wdk extends WdkLike {
  registerWallet(name: string, manager: unknown, config: object): Wdk
  dispose(): void
}

interface WdkClass {
  new (seedPhrase: string): Wdk
  getRandomSeedPhrase(words: 12 | 24): string
}

const isWdkClass = (value: unknown): value is WdkClass =>
  typeof value === "function" && Predicate.hasProperty(value, "getRandomSeedPhrase")

const load = async (name: string): Promise<unknown> => (await import(pathToFileURL(resolve(name)).href)).default

/** A WDK of a new seed, with a wallet for each family; the keys end with the scope. */
const open = (tronRpcUrl: string): Effect.Effect<Wdk, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const Class = await load("@tetherto/wdk")
      if (!isWdkClass(Class)) throw new Error("@tetherto/wdk exports no WDK")
      const wdk = new Class(Class.getRandomSeedPhrase(12))
      wdk.registerWallet("ethereum", await load("@tetherto/wdk-wallet-evm"), {})
      wdk.registerWallet("ton", await load("@tetherto/wdk-wallet-ton"), {})
      return wdk.registerWallet("tron", await load("@tetherto/wdk-wallet-tron"), { provider: tronRpcUrl })
    }),
    (wdk) => Effect.sync(() => wdk.dispose())
  )

/** Pays from one account of the seed, so that each chain has its purchase. */
const payer = (wdk: Wdk, accounts: WdkAccounts): Effect.Effect<WdkBuyer> =>
  Effect.promise(() => wdkBuyer(wdk, { accounts, limits: { perRequest: "$0.05", perDay: "$2" } }))

const dollar = 1_000_000n

/** Gives each account a dollar, and the one on TRON the TRX for the chain's fees. */
const fund = Effect.fnUntraced(function* ({ evm, ton, tron }: DevNet.DevNet, addresses: WdkBuyer["addresses"]) {
  const onEvm = EvmAddress.fromText(addresses.evm ?? "")
  const onTon = TonAddress.fromText(addresses.ton ?? "")
  const onTron = addresses.tron
  if (onEvm === undefined || onTon === undefined || onTron === undefined) {
    return yield* Effect.die(new Error("the WDK has no address on one of the chains"))
  }
  yield* evm.mint(onEvm, dollar)
  yield* ton.mint(TonAddress.toCore(onTon), dollar)
  yield* tron.mint(onTron, dollar)
  const fees = { contract: "TransferContract", fields: { to_address: onTron, amount: "100000000" } } as const
  yield* tron.send(fees, tron.accounts.payers[1] ?? tron.accounts.payers[0])
})

/** Installs the WDK where it is missing, and makes the buyers. */
export const make = Effect.fnUntraced(function* (
  chains: DevNet.DevNet,
  narrator: Narrator
): Effect.fn.Return<ReadonlyArray<Purchase.Buyer>, unknown, Scope.Scope> {
  const { evm, ton, tron } = chains
  yield* installedBy(script, "the WDK's packages")
  const wdk = yield* open(tron.rpcUrl)
  const accounts = {
    evm: { wallet: "ethereum", network: evm.network },
    ton: { wallet: "ton", network: ton.network, rpcUrl: ton.rpcUrl },
    tron: { wallet: "tron", network: tron.network, rpcUrl: tron.rpcUrl }
  }
  const { addresses } = yield* payer(wdk, accounts)
  yield* fund(chains, addresses)
  yield* narrator.row("EVM", addresses.evm ?? "", `owns ${evm.token.symbol} and no coin for gas`)
  yield* narrator.row("TON", addresses.ton ?? "", `owns ${ton.jetton.symbol} and no TON`)
  yield* narrator.row("TRON", addresses.tron ?? "", `owns ${tron.token.symbol}, and TRX for the fees of the chain`)
  const kind = "WDK"
  return [
    { kind, pay: yield* payer(wdk, { evm: accounts.evm }), ledger: evmLedger(chains) },
    { kind, pay: yield* payer(wdk, { ton: accounts.ton }), ledger: tonLedger(chains) },
    { kind, pay: yield* payer(wdk, { tron: accounts.tron }), ledger: tronLedger(chains) }
  ]
})
