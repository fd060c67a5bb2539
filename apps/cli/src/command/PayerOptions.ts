/** The options of a payer: where keys are, on which networks, through which nodes. */
import type { OptionTable } from "../CommandLine.ts"

/** The table. */
export const table = {
  network: {
    value: "name",
    many: true,
    help: "Pay on this network only: base, eip155:8453, ton:mainnet, tron:nile ..."
  },
  wallet: { short: "w", value: "name", help: "The wallet to pay with; default: the first one of the chain's family" },
  "key-file": {
    value: "path",
    many: true,
    help: "A file with a key (64 hexadecimal digits) or a keystore; ton=path and tron=path for these chains"
  },
  "password-file": { value: "path", help: "A file with the wallet's password; or the variable PONTAGE_PASSWORD" },
  rpc: {
    value: "network=url",
    many: true,
    help: "The node for payments on TON and TRON, through channels, and for top-ups"
  },
  "top-up": {
    value: "url",
    help: "The facilitator that brings money from another EVM network where the shop's has too little of it"
  },
  "at-least": { value: "price", help: "The least that a top-up brings; default what is missing" },
  bridges: { value: "path", help: "A JSON file with assets and bridges beside the known ones, for top-ups" },
  json: { help: "Print one JSON document" },
  quiet: { short: "s", help: "Say nothing but failures" }
} as const satisfies OptionTable
