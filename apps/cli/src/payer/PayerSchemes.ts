/**
 * The signing schemes of a command. A family without a key has a signer that refuses, so that its offers can be quoted. The local
 * chain of `npm start` and `pontage devnet` is paid with its own well-known key if there is no other.
 */
import type { SchemeClient } from "@pontage/core"
import { channelEvm, exactEvm } from "@pontage/evm"
import { exactTon } from "@pontage/ton"
import { exactTron } from "@pontage/tron"

import { unusableWallet } from "../CommandFailed.ts"
import type { ChainFamily } from "../wallet/ChainFamily.ts"
import type { Nodes } from "./PayerNetworks.ts"
import type { KnownBeside } from "./PayerTopUps.ts"
import type { PayerWallet, Signers } from "./PayerWallet.ts"

/** The network of the local EVM chain. */
export const localNetwork = "eip155:31337"

/** The first payer of the local chain. The key is public; it owns test dollars there and nothing elsewhere. */
const localKey = "0xdae4671006c60a3619556ace98eca6f6e092948d05b13070a27ac492a4fba419"

const refuse = () => Promise.reject(unusableWallet("no key is there to sign with"))

/** Accounts without an owner: they only make a quote possible. */
const watching: Signers = {
  evm: { address: "0x000000000000000000000000000000000000dEaD", signTypedData: refuse },
  ton: { publicKey: new Uint8Array(32).fill(1), sign: refuse },
  tron: { address: "T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb", signTransaction: refuse }
}

const isOf = <Family extends ChainFamily>(wallet: PayerWallet, family: Family): wallet is PayerWallet<Family> =>
  wallet.family === family

/** The signer of a family: of its first wallet, or one that refuses. */
export const signerFor = <Family extends ChainFamily>(
  wallets: ReadonlyArray<PayerWallet>,
  family: Family
): Signers[Family] => {
  for (const wallet of wallets) if (isOf(wallet, family)) return wallet.signer
  return watching[family]
}

const node = (nodes: Nodes, network: string): string => nodes[network] ?? ""

/** The clients that pay through channels: on each EVM network whose node is known, since it says where a channel stands. */
const channels = (wallets: ReadonlyArray<PayerWallet>, nodes: Nodes, isLocal: boolean): ReadonlyArray<SchemeClient> =>
  Object.entries(nodes).flatMap(([network, rpcUrl]) => {
    if (!network.startsWith("eip155:")) return []
    const isOwn = isLocal && network === localNetwork && !wallets.some(({ family }) => family === "evm")
    const signer = isOwn ? exactEvm.localSigner(localKey) : signerFor(wallets, "evm")
    return [channelEvm.client({ signer, network, rpcUrl })]
  })

/** The schemes of these wallets. `isLocal` tells that the shop is on this machine. */
export const make = (
  wallets: ReadonlyArray<PayerWallet>,
  nodes: Nodes,
  isLocal: boolean,
  { assets = [] }: KnownBeside = {}
): ReadonlyArray<SchemeClient> => {
  const ton = signerFor(wallets, "ton")
  const tron = signerFor(wallets, "tron")
  const hasEvm = wallets.some(({ family }) => family === "evm")
  const local = exactEvm.client({ signer: exactEvm.localSigner(localKey), network: localNetwork })
  return [
    ...(isLocal && !hasEvm ? [local] : []),
    exactEvm.client({ signer: signerFor(wallets, "evm"), network: "eip155:*", assets }),
    ...channels(wallets, nodes, isLocal),
    ...["ton:mainnet", "ton:testnet", "ton:local"].map((network) =>
      exactTon.client({ signer: ton, network, rpcUrl: node(nodes, network) })
    ),
    ...["tron:mainnet", "tron:nile", "tron:shasta", "tron:local"].map((network) =>
      exactTron.client({ signer: tron, network, rpcUrl: node(nodes, network) })
    )
  ]
}
