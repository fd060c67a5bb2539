/**
 * The account through which the peers' facilitator classes settle: a viem client in the shape that both of them take, put
 * together as their examples do it.
 */
import type { FacilitatorEvmSigner } from "@x402/evm"
import {
  type Chain,
  type Client,
  createWalletClient,
  http,
  type HttpTransport,
  type PrivateKeyAccount,
  type PublicActions,
  publicActions,
  type WalletActions
} from "viem"
import { privateKeyToAccount } from "viem/accounts"
import { baseSepolia } from "viem/chains"
import { createNonceManager, jsonRpc, type NonceManagerSource } from "viem/nonce"

import type { FacilitatorOptions } from "../RoleOptions.ts"

/** Without what only this chain's type says, which the older package's types do not know. */
const chain: Chain = baseSepolia

/** viem's client with everything a facilitator does. */
export type Settling = Client<
  HttpTransport,
  Chain,
  PrivateKeyAccount,
  undefined,
  PublicActions<HttpTransport, Chain, PrivateKeyAccount> & WalletActions<Chain, PrivateKeyAccount>
>

/**
 * The transaction numbers of one account. viem's manager takes the number 0 for none, so that it would give the first number of a
 * new account to a second transaction as well, while the first is not sent.
 */
const countedNonces = (): NonceManagerSource => {
  const node = jsonRpc()
  let next = 0
  return {
    get: async (account) => Math.max(await node.get(account), next),
    set: (_account, nonce) => void (next = Math.max(next, nonce + 1))
  }
}

/** A viem client that reads, signs and sends on the local chain. */
export const client = ({ key, nonces = "counted", pollingMillis, rpcUrl }: FacilitatorOptions): Settling =>
  createWalletClient({
    // A manager of its own: the one that viem exports remembers the numbers of another chain with the same id.
    account: privateKeyToAccount(
      key,
      nonces === "counted" ? { nonceManager: createNonceManager({ source: countedNonces() }) } : {}
    ),
    chain,
    transport: http(rpcUrl),
    ...(pollingMillis !== undefined && { pollingInterval: pollingMillis })
  }).extend(publicActions)

/**
 * The client's parts under the names that facilitator classes ask for. The casts are those of the peers' examples: viem's
 * types tie arguments to the ABI and messages to their types, which the classes' signatures do not say.
 */
export const settler = (options: FacilitatorOptions): FacilitatorEvmSigner => {
  const viem = client(options)
  return {
    getAddresses: () => [viem.account.address],
    getCode: (args) => viem.getCode(args),
    readContract: (args) => viem.readContract({ ...args, args: args.args ?? [] }),
    verifyTypedData: (args) => viem.verifyTypedData(as<typeof viem.verifyTypedData>(args)),
    writeContract: (args) => viem.writeContract(as<typeof viem.writeContract>(args)),
    sendTransaction: (args) => viem.sendTransaction(as<typeof viem.sendTransaction>(args)),
    waitForTransactionReceipt: (args) => viem.waitForTransactionReceipt(args)
  }
}

/** An argument as viem's function takes it. */
// oxlint-disable-next-line typescript/no-explicit-any -- viem's types depend on the contract
const as = <F extends (args: any) => unknown>(args: unknown): Parameters<F>[0] => args
