/**
 * A `fetch` that pays from the accounts of one WDK: one seed, up to three chain families.
 */
import { Misconfigured, type SchemeClient } from "@pontage/core"
import * as Buyer from "@pontage/core/Buyer"
import * as OptionCheck from "@pontage/core/OptionCheck"
import * as exactEvm from "@pontage/evm/client"
import { type FetchFunction, type PayingFetch, type PayingFetchOptions, wrapFetch } from "@pontage/fetch"
import { TonAddress, TonNetwork, TonWallet } from "@pontage/ton"
import * as exactTon from "@pontage/ton/client"
import * as exactTron from "@pontage/tron/client"
import * as Result from "effect/Result"

import * as PolicyGate from "./PolicyGate.ts"
import { type EvmAccount, isEvmAccount, isTonAccount, isTronAccount, type WdkLike } from "./WdkAccount.ts"
import * as WdkSigners from "./WdkSigners.ts"

/** An account of the WDK. */
export interface AccountOptions {
  /** The name under which the wallet was registered: `registerWallet("ethereum", WalletManagerEvm, ...)`. */
  readonly wallet: string
  /** The account's index in its wallet; default 0. */
  readonly index?: number
  /** The account's path below the wallet's own, such as `0'/0/5`, instead of an index. */
  readonly path?: string
}

/** An account, and the options of the scheme client that pays from it. */
export interface EvmAccountOptions
  extends AccountOptions, Partial<Omit<Parameters<typeof exactEvm.client>[0], "signer">> {}

/** An account, and the options of the scheme client that pays from it. */
export interface TonAccountOptions
  extends AccountOptions, Omit<Parameters<typeof exactTon.client>[0], "signer" | "kind" | "subwallet"> {}

/** An account, and the options of the scheme client that pays from it. */
export interface TronAccountOptions extends AccountOptions, Omit<Parameters<typeof exactTron.client>[0], "signer"> {}

/** The accounts that pay; at least one. */
export interface WdkAccounts {
  /** Default network: `eip155:*`, every EVM network whose tokens are known. */
  readonly evm?: EvmAccountOptions
  readonly ton?: TonAccountOptions
  /** Default network: `tron:mainnet`. */
  readonly tron?: TronAccountOptions
}

/** Options of `wdkBuyer`: those of `wrapFetch`, and the accounts instead of `schemes`. */
export interface WdkBuyerOptions extends Omit<PayingFetchOptions, "schemes"> {
  readonly accounts: WdkAccounts
  /** The `fetch` to wrap; default `globalThis.fetch`. */
  readonly fetch?: FetchFunction
}

/** A paying `fetch`, and the addresses from which it pays. */
export interface WdkBuyer extends PayingFetch {
  readonly addresses: Readonly<Partial<Record<keyof WdkAccounts, string>>>
}

const account: OptionCheck.Table<AccountOptions> = {
  wallet: OptionCheck.setting('the name of a registered wallet, such as "ethereum"'),
  index: OptionCheck.optional(OptionCheck.whole()),
  path: OptionCheck.optional(OptionCheck.text)
}

/** The scheme client, or `wrapFetch`, checks these itself. */
const left = <A>() => OptionCheck.optional(OptionCheck.any<A>())

const accountsCheck = OptionCheck.options<WdkAccounts>({
  evm: OptionCheck.optional(
    OptionCheck.options<EvmAccountOptions>({
      ...account,
      network: left(),
      assets: left(),
      rpcUrl: left(),
      routes: left()
    })
  ),
  ton: OptionCheck.optional(
    OptionCheck.options<TonAccountOptions>({
      ...account,
      network: OptionCheck.setting('a TON network such as "ton:mainnet"'),
      rpcUrl: OptionCheck.nodeUrl("https://toncenter.com/api/v2/jsonRPC"),
      apiKey: left(),
      assets: left()
    })
  ),
  tron: OptionCheck.optional(
    OptionCheck.options<TronAccountOptions>({
      ...account,
      network: left(),
      rpcUrl: left(),
      rpcHeaders: left(),
      assets: left(),
      maxFeeLimit: left()
    })
  )
})

const { schemes: _schemes, ...buyer } = Buyer.keys

const optionsCheck = OptionCheck.options<WdkBuyerOptions>({
  ...buyer,
  accounts: accountsCheck,
  fetch: left(),
  maxBodyBytes: left(),
  dialects: left()
})

const wdkCheck = OptionCheck.having<WdkLike>("a WDK of @tetherto/wdk", "getAccount", "getAccountByPath")

/**
 * Makes a paying `fetch` from accounts of the WDK. Register wallets, middleware and policies first: accounts are taken once. On TON it
 * pays from the account's W5 wallet of the network, which is the WDK's own address on mainnet. Rejects with `Misconfigured` if an
 * option is a mistake, and with the WDK's error if it has no such wallet.
 */
export const wdkBuyer = async (wdk: WdkLike, options: WdkBuyerOptions): Promise<WdkBuyer> => {
  Result.getOrThrow(OptionCheck.read(wdkCheck, wdk, "wdkBuyer"))
  const checked = Result.getOrThrow(OptionCheck.read(optionsCheck, options, "wdkBuyer"))
  const { accounts, fetch = globalThis.fetch, ...rest } = checked
  const payers = await Promise.all([
    accounts.evm && evmPayer(wdk, accounts.evm),
    accounts.ton && tonPayer(wdk, accounts.ton),
    accounts.tron && tronPayer(wdk, accounts.tron)
  ])
  const given = payers.filter((payer) => payer !== undefined)
  if (given.length === 0) throw wrong("accounts: expected an account of evm, ton or tron, got none")
  const paying = wrapFetch(fetch, { ...rest, schemes: given.map(({ client }) => client) })
  return Object.assign(paying, { addresses: Object.fromEntries(given.map(({ address, family }) => [family, address])) })
}

interface Payer {
  readonly family: keyof WdkAccounts
  readonly address: string
  readonly client: SchemeClient
}

const wrong = (reason: string) => new Misconfigured({ message: `wdkBuyer: ${reason}` })

const evmPayer = async (
  wdk: WdkLike,
  { index, path, wallet, network = "eip155:*", ...options }: EvmAccountOptions
): Promise<Payer> => {
  const account = await accountOf(wdk, wallet, index, path)
  if (!isEvmAccount(account)) throw unfit(wallet, "an EVM account with signTypedData")
  const signer = await evmSignerOf(account, options.rpcUrl)
  return { family: "evm", address: signer.address, client: exactEvm.client({ ...options, network, signer }) }
}

/** An account of ERC-4337 pays from its Safe, and a node says whether that is deployed. */
const evmSignerOf = async (account: EvmAccount, rpcUrl: string | undefined) => {
  if (!(await WdkSigners.isSafe(account))) return WdkSigners.evmSigner(account)
  if (rpcUrl === undefined) {
    throw wrong(
      "accounts.evm: an account of wdk-wallet-evm-erc-4337 needs rpcUrl, a node of its network, and that network"
    )
  }
  return WdkSigners.safeSigner(account, { rpcUrl })
}

const tronPayer = async (wdk: WdkLike, { index, path, wallet, ...options }: TronAccountOptions): Promise<Payer> => {
  const account = await accountOf(wdk, wallet, index, path)
  if (!isTronAccount(account)) throw unfit(wallet, "a TRON account with signTransaction")
  const signer = await WdkSigners.tronSigner(account)
  return { family: "tron", address: signer.address, client: exactTron.client({ ...options, signer }) }
}

const tonPayer = async (wdk: WdkLike, { index, path, wallet, ...options }: TonAccountOptions): Promise<Payer> => {
  const account = await accountOf(wdk, wallet, index, path)
  if (!isTonAccount(account)) throw unfit(wallet, "a TON account with keyPair")
  const signer = WdkSigners.tonSigner(account)
  const client = PolicyGate.underPolicies(account, exactTon.client({ ...options, signer }))
  const network = TonNetwork.fromText(options.network)
  if (network === undefined) throw wrong(`accounts.ton.network: "${options.network}" is not a TON network`)
  const address = TonWallet.w5Address(signer.publicKey, TonNetwork.walletId(network))
  const own = await account.getAddress()
  if (network === TonNetwork.mainnet && !TonAddress.equals(own, address)) {
    throw wrong(`accounts.ton: expected the W5 wallet ${friendly(address)} of the account's key, got ${own}`)
  }
  return { family: "ton", address: friendly(address), client }
}

/** The form in which the WDK writes addresses: user-friendly, not bounceable. */
const friendly = (address: TonAddress.Address): string => TonAddress.toCore(address).toString({ bounceable: false })

const accountOf = (
  wdk: WdkLike,
  wallet: string,
  index: number | undefined,
  path: string | undefined
): Promise<unknown> => {
  if (path === undefined) return wdk.getAccount(wallet, index ?? 0)
  if (index !== undefined) throw wrong(`accounts: "${wallet}" has an index and a path; give one of them`)
  return wdk.getAccountByPath(wallet, path)
}

const unfit = (wallet: string, expected: string) =>
  wrong(`accounts: the WDK's wallet "${wallet}" gave something else than ${expected}; is it the wallet of this family?`)
