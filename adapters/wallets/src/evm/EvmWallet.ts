/** EVM wallets: EIP-1193 providers that announce themselves (EIP-6963), or stand in `window.ethereum`. */
import type { Announced } from "../Announcements.ts"
import { call, codeOf, onChange, type Provider } from "../ProviderCall.ts"
import { type EvmChain, type EvmWalletSigner, type TypedData, type Wallet, WalletError } from "../Wallet.ts"

/** The events of EIP-6963. */
export const events = { announce: "eip6963:announceProvider", request: "eip6963:requestProvider" }

/** The wallet of a provider. */
export const make = ({ icon, id, name, provider }: Announced): Wallet<"evm", EvmWalletSigner> => ({
  family: "evm",
  id,
  name,
  icon,
  features: ["sign", "switchNetwork", "addNetwork"],
  connect: async (network, { chain } = {}) => {
    const chainId = chainIdOf(network)
    const address = firstAccount(await call(provider, "eth_requestAccounts", [], "share an account"))
    if ((await chainNow(provider)) !== chainId) await changeTo(provider, chainId, chain)
    const isSame = async () => {
      const accounts = await call(provider, "eth_accounts", [], "share an account")
      return firstAccount(accounts) === address && (await chainNow(provider)) === chainId
    }
    return { address, network, signer: signerOf(provider, address, isSame), onChange: onChange(provider) }
  }
})

const chainIdOf = (network: string): bigint => {
  const digits = /^eip155:([1-9][0-9]{0,15})$/.exec(network)?.[1]
  if (digits === undefined)
    throw new WalletError("unsupported", `expected an EVM network such as eip155:8453, got ${network}`)
  return BigInt(digits)
}

const firstAccount = (accounts: unknown): string => {
  const first: unknown = Array.isArray(accounts) ? accounts[0] : undefined
  if (typeof first === "string" && /^0x[0-9a-fA-F]{40}$/.test(first)) return first
  throw new WalletError("locked", "the wallet shares no account: unlock it, and allow this page to see one")
}

const chainNow = async (provider: Provider): Promise<bigint> => {
  const id = await call(provider, "eth_chainId", [], "say its network")
  if (typeof id === "string" && /^0x[0-9a-fA-F]{1,16}$/.test(id)) return BigInt(id)
  throw new WalletError("failed", "the wallet did not say its network: expected a chain id in hexadecimal")
}

/** Code of a wallet that does not know a network (EIP-3326). */
const unknownChain = 4902

/** Changes the network, and adds it where the wallet does not know it. A wallet that only says so is not believed. */
const changeTo = async (provider: Provider, chainId: bigint, chain: EvmChain | undefined): Promise<void> => {
  const id = `0x${chainId.toString(16)}`
  try {
    await call(provider, "wallet_switchEthereumChain", [{ chainId: id }], "change its network")
  } catch (error) {
    const cause = error instanceof WalletError ? error.cause : error
    if (codeOf(cause) !== unknownChain || chain === undefined) throw onWrongNetwork(error, chainId)
    const { currency, explorers = [], name, rpcUrls } = chain
    const added = { chainId: id, chainName: name, rpcUrls, nativeCurrency: currency, blockExplorerUrls: explorers }
    await call(provider, "wallet_addEthereumChain", [added], "add the network")
  }
  const now = await chainNow(provider)
  if (now !== chainId) throw new WalletError("wrong_network", `the wallet stays on chain ${now}; expected ${chainId}`)
}

const onWrongNetwork = (error: unknown, chainId: bigint): WalletError =>
  error instanceof WalletError && (error.reason === "rejected" || error.reason === "busy")
    ? error
    : new WalletError("wrong_network", `the wallet does not change to chain ${chainId}; change it there`, {
        cause: error
      })

const signerOf = (provider: Provider, address: string, isSame: () => Promise<boolean>): EvmWalletSigner => ({
  address,
  signTypedData: async (data) => {
    if (!(await isSame()))
      throw new WalletError("changed", `the wallet has left the account ${address}, or its network`)
    const signature = await call(provider, "eth_signTypedData_v4", [address, jsonOf(data)], "sign")
    if (typeof signature === "string") return signature
    throw new WalletError("failed", `the wallet returned ${typeof signature} instead of a signature's text`)
  }
})

const domainTypes = [
  { name: "name", type: "string" },
  { name: "version", type: "string" },
  { name: "chainId", type: "uint256" },
  { name: "verifyingContract", type: "address" }
]

/** The second parameter of `eth_signTypedData_v4`: numbers as decimal strings, and the type of the domain's own fields. */
const jsonOf = ({ domain, types, ...rest }: TypedData): string => {
  const ownTypes = domainTypes.filter(({ name }) => name in domain)
  return JSON.stringify({ ...rest, domain, types: { EIP712Domain: ownTypes, ...types } }, (_, value: unknown) =>
    typeof value === "bigint" ? value.toString() : value
  )
}
