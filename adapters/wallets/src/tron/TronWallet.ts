/** TRON wallets: TIP-1193 providers that announce themselves (TIP-6963), or stand in `window.tron` as TronLink does. */
import type { Announced } from "../Announcements.ts"
import { call, errorOf, onChange, type Provider } from "../ProviderCall.ts"
import { type TronSigned, type TronWalletSigner, type Wallet, WalletError } from "../Wallet.ts"
import { fieldOf, isRecord } from "../WalletText.ts"

/** The events of TIP-6963. */
export const events = { announce: "TIP6963:announceProvider", request: "TIP6963:requestProvider" }

/** Ids of the public networks, by which a provider names them. A network of its own has none here, and is not compared. */
const chainIds: Readonly<Record<string, string>> = {
  "tron:mainnet": "0x2b6653dc",
  "tron:nile": "0xcd8690dc",
  "tron:shasta": "0x94a9059e"
}

/** The wallet of a provider. */
export const make = ({ icon, id, name, provider }: Announced): Wallet<"tron", TronWalletSigner> => ({
  family: "tron",
  id,
  name,
  icon,
  features: ["sign", "switchNetwork"],
  connect: async (network) => {
    if (!network.startsWith("tron:"))
      throw new WalletError("unsupported", `expected a TRON network such as tron:mainnet, got ${network}`)
    await call(provider, "eth_requestAccounts", [], "share an account")
    await demandNetwork(provider, network)
    const address = accountOf(provider)
    return { address, network, signer: signerOf(provider, address), onChange: onChange(provider) }
  }
})

/** TronLink's object for one account. It is `false` as long as the wallet is locked. */
const accountOf = (provider: Provider): string => {
  const address = fieldOf(fieldOf(fieldOf(provider, "tronWeb"), "defaultAddress"), "base58")
  if (typeof address === "string" && /^T[1-9A-HJ-NP-Za-km-z]{33}$/.test(address)) return address
  throw new WalletError("locked", "the wallet shares no account: unlock it, and allow this page to see one")
}

/** The wallet's chain; `undefined` for a wallet that does not say it. The transaction names a block of its chain anyway. */
const chainNow = async (provider: Provider): Promise<string | undefined> => {
  const id = await provider.request({ method: "eth_chainId" }).catch(() => undefined)
  return typeof id === "string" ? id.toLowerCase() : undefined
}

const demandNetwork = async (provider: Provider, network: string): Promise<void> => {
  const expected = chainIds[network]
  const now = expected === undefined ? undefined : await chainNow(provider)
  if (expected === undefined || now === undefined || now === expected) return
  await call(provider, "wallet_switchEthereumChain", [{ chainId: expected }], "change its network").catch(
    (error: unknown) => {
      if (error instanceof WalletError && error.reason === "rejected") throw error
    }
  )
  const after = await chainNow(provider)
  if (after !== expected) throw new WalletError("wrong_network", `the wallet stays on another network than ${network}`)
}

const signerOf = (provider: Provider, address: string): TronWalletSigner => ({
  address,
  signTransaction: async (transaction) => {
    if (accountOf(provider) !== address) throw new WalletError("changed", `the wallet has left the account ${address}`)
    const trx = fieldOf(fieldOf(provider, "tronWeb"), "trx")
    const sign = fieldOf(trx, "sign")
    if (typeof sign !== "function") throw new WalletError("unsupported", "the wallet has no tronWeb.trx.sign")
    // A copy, because wallets write the signature into their argument.
    const signed: unknown = await Promise.resolve(sign.call(trx, structuredClone(transaction))).catch(
      (cause: unknown) => {
        throw errorOf(cause, "sign")
      }
    )
    if (isSigned(signed)) return signed
    throw new WalletError("failed", "the wallet returned something else than a signed transaction")
  }
})

const isSigned = (value: unknown): value is TronSigned =>
  isRecord(value) &&
  typeof value["raw_data_hex"] === "string" &&
  Array.isArray(value["signature"]) &&
  value["signature"].every((one) => typeof one === "string")
