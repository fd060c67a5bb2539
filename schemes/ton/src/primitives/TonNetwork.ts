/**
 * TON networks: `ton:mainnet`, `ton:testnet`, and `ton:local` for a chain on the own machine. Only this module accepts their
 * other names, on input: the global id after `ton:` or `tvm:`, and the short names `ton`, `ton-mainnet` and `ton-testnet`.
 */
import * as Network from "@pontage/core/Network"

/** The public chain. */
export const mainnet = /* @__PURE__ */ Network.make("ton:mainnet")

/** The public test chain. */
export const testnet = /* @__PURE__ */ Network.make("ton:testnet")

/** A chain on the own machine (`@pontage/ton/testing` runs one). */
export const local = /* @__PURE__ */ Network.make("ton:local")

/** Global ids of the chains: the ids of W5 wallets contain them. The local chain has its own. */
const globalIds: Readonly<Record<string, number>> = { [mainnet]: -239, [testnet]: -3, [local]: -217 }

/** The network of a text, aliases included; `undefined` for any other text. */
export const fromText = (text: string): Network.Network | undefined => {
  switch (text) {
    case mainnet:
    case "ton":
    case "ton-mainnet":
    case "ton:-239":
    case "tvm:-239":
      return mainnet
    case testnet:
    case "ton-testnet":
    case "ton:-3":
    case "tvm:-3":
      return testnet
    case local:
    case "ton:-217":
    case "tvm:-217":
      return local
    default:
      return undefined
  }
}

/** The global id of a network, as in the ids of W5 wallets. */
export const globalId = (network: Network.Network): number => globalIds[network] ?? 0

/**
 * The id of a payer's W5 wallet with this subwallet number (default 0, as in wallet apps) in workchain 0.
 */
export const walletId = (network: Network.Network, subwallet = 0): number =>
  (globalId(network) ^ (0x80000000 | (subwallet & 0x7fff))) | 0

/** The network whose wallet with the subwallet number 0 has this id; `undefined` for an id that may belong to any network. */
export const ofUsualWallet = (id: number): Network.Network | undefined =>
  [mainnet, testnet, local].find((network) => walletId(network) === id)
