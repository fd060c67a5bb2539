/** Nodes and explorers by network: the nodes that TON and TRON payments are made with, and the pages where people look payments up. */
import { EvmNetwork } from "@pontage/evm"

import { misused } from "../CommandFailed.ts"

/** The node of a network whose payments need one, unless `--rpc` names another. */
const nodes: Readonly<Record<string, string>> = {
  "ton:mainnet": "https://toncenter.com/api/v2/jsonRPC",
  "ton:testnet": "https://testnet.toncenter.com/api/v2/jsonRPC",
  "ton:local": "http://127.0.0.1:8081/api/v2/jsonRPC",
  "tron:mainnet": "https://api.trongrid.io",
  "tron:nile": "https://nile.trongrid.io",
  "tron:shasta": "https://api.shasta.trongrid.io",
  "tron:local": "http://127.0.0.1:9090",
  "eip155:31337": "http://127.0.0.1:8545",
  "eip155:8453": "https://mainnet.base.org",
  "eip155:84532": "https://sepolia.base.org"
}

/** Nodes by network. */
export type Nodes = Readonly<Record<string, string>>

/** The network of a text: by its id, or an EVM network by its name too, as in `--network`. */
const networkOf = (text: string): string | undefined =>
  EvmNetwork.fromText(text) ?? (/^[a-z0-9-]+:[A-Za-z0-9_-]+$/.test(text) ? text : undefined)

/** Reads `network=url` texts, of arguments and of the variable `PONTAGE_RPC` (separated by commas). */
export const nodesFrom = (texts: ReadonlyArray<string>): Nodes => {
  const own = (process.env["PONTAGE_RPC"] ?? "").split(",").filter((text) => text !== "")
  const pairs = [...own, ...texts].map((text) => {
    const [, name = "", url] = /^([^=]+)=(https?:\/\/.+)$/.exec(text) ?? []
    const network = networkOf(name)
    if (network === undefined || url === undefined) {
      throw misused(
        "--rpc: expected network=url, as in --rpc base=https://mainnet.base.org, and ton:mainnet=... for TON"
      )
    }
    return [network, url] as const
  })
  return { ...nodes, ...Object.fromEntries(pairs) }
}

const explorers: Readonly<Record<string, string>> = {
  "eip155:1": "https://etherscan.io/tx/",
  "eip155:10": "https://optimistic.etherscan.io/tx/",
  "eip155:137": "https://polygonscan.com/tx/",
  "eip155:8453": "https://basescan.org/tx/",
  "eip155:42161": "https://arbiscan.io/tx/",
  "eip155:43114": "https://snowtrace.io/tx/",
  "eip155:43113": "https://testnet.snowtrace.io/tx/",
  "eip155:80002": "https://amoy.polygonscan.com/tx/",
  "eip155:84532": "https://sepolia.basescan.org/tx/",
  "eip155:421614": "https://sepolia.arbiscan.io/tx/",
  "eip155:11155111": "https://sepolia.etherscan.io/tx/",
  "eip155:11155420": "https://sepolia-optimism.etherscan.io/tx/",
  "ton:mainnet": "https://tonviewer.com/transaction/",
  "ton:testnet": "https://testnet.tonviewer.com/transaction/",
  "tron:mainnet": "https://tronscan.org/#/transaction/",
  "tron:nile": "https://nile.tronscan.org/#/transaction/",
  "tron:shasta": "https://shasta.tronscan.org/#/transaction/"
}

/** The page of a transaction; `undefined` where no explorer is known, or the text is no transaction's hash. */
export const explorerLink = (network: string, transaction: string): string | undefined => {
  const base = Object.hasOwn(explorers, network) ? explorers[network] : undefined
  return base !== undefined && /^(?:0x)?[0-9a-fA-F]{64}$/.test(transaction) ? `${base}${transaction}` : undefined
}
