/**
 * A WDK for faults that the published one does not produce on demand: accounts that answer wrongly. The published one buys in
 * `apps/conformance`.
 */
import { exactTon, TonAddress, TonNetwork, TonWallet } from "@pontage/ton"

import { type EvmAccount, type TonAccount, tonSigner, type TronAccount, type WdkLike } from "../src/index.ts"

const evmAccount: EvmAccount = {
  getAddress: async () => "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
  signTypedData: async () => "0x"
}

/** An account of this seed, with the key pair of a WDK account. */
export const tonAccount = (seed: number): TonAccount => {
  const key = new Uint8Array(32).fill(seed)
  const { publicKey } = exactTon.localSigner(Buffer.from(key).toString("hex"))
  const address = TonWallet.w5Address(publicKey, TonNetwork.walletId(TonNetwork.mainnet))
  return {
    getAddress: async () => TonAddress.toCore(address).toString({ bounceable: false }),
    keyPair: { publicKey, privateKey: Uint8Array.from([...key, ...publicKey]) }
  }
}

/** The signer of an account. */
export const signer = tonSigner(tonAccount(1))

/** The signer of an account whose key can be erased, as `dispose()` of a WDK account does. */
export const disposable = () => {
  let { keyPair } = tonAccount(2)
  const account: TonAccount = {
    ...tonAccount(2),
    get keyPair() {
      return keyPair
    }
  }
  return {
    signer: tonSigner(account),
    dispose: () => {
      keyPair = { publicKey: keyPair.publicKey, privateKey: null }
    }
  }
}

/** A WDK with these accounts. */
export const make = (accounts: {
  readonly evm?: EvmAccount
  readonly ton?: TonAccount
  readonly tron?: TronAccount
}): WdkLike => {
  const all = { evm: evmAccount, ton: tonAccount(1), ...accounts }
  const account = async (wallet: string) => Object.entries(all).find(([name]) => name === wallet)?.[1]
  return { getAccount: account, getAccountByPath: account }
}
