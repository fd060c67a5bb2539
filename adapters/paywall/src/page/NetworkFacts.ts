/** Names of networks for people, and block explorers. A network that is not here is shown by its identifier, without a link. */

/** Facts about a network. */
export interface NetworkFacts {
  readonly name: string
  /** Address of a transaction, with `{tx}` in its place. */
  readonly explorer?: string
}

const scan = (name: string, host: string): NetworkFacts => ({ name, explorer: `https://${host}/tx/{tx}` })

/** The facts by CAIP-2 identifier. */
const table: Readonly<Record<string, NetworkFacts>> = {
  "eip155:1": scan("Ethereum", "etherscan.io"),
  "eip155:10": scan("Optimism", "optimistic.etherscan.io"),
  "eip155:137": scan("Polygon", "polygonscan.com"),
  "eip155:8453": scan("Base", "basescan.org"),
  "eip155:84532": scan("Base Sepolia", "sepolia.basescan.org"),
  "eip155:42161": scan("Arbitrum One", "arbiscan.io"),
  "eip155:42220": scan("Celo", "celoscan.io"),
  "eip155:43114": scan("Avalanche", "snowtrace.io"),
  "eip155:11155111": scan("Sepolia", "sepolia.etherscan.io"),
  "eip155:31337": { name: "Local EVM chain" },
  "ton:mainnet": { name: "TON", explorer: "https://tonviewer.com/transaction/{tx}" },
  "ton:testnet": { name: "TON testnet", explorer: "https://testnet.tonviewer.com/transaction/{tx}" },
  "ton:local": { name: "Local TON chain" },
  "tron:mainnet": { name: "TRON", explorer: "https://tronscan.org/#/transaction/{tx}" },
  "tron:nile": { name: "TRON Nile", explorer: "https://nile.tronscan.org/#/transaction/{tx}" },
  "tron:shasta": { name: "TRON Shasta", explorer: "https://shasta.tronscan.org/#/transaction/{tx}" },
  "tron:local": { name: "Local TRON chain" }
}

/** The facts of a network. */
export const of = (network: string): NetworkFacts => table[network] ?? { name: network }
