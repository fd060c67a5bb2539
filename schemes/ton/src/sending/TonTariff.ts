/**
 * Cost of a relayed payment at the chain's prices: the TON attached to it, and the most that the relayer pays beside it. A payer
 * who moves the Jettons away gains the attached TON, so it is kept near the need of a transfer.
 */
import type { Asset } from "@pontage/core"
import type { Cell } from "@ton/core"

import type { TonAuthorization } from "../payment/TonAuthorization.ts"
import * as TonPrices from "./TonPrices.ts"

/** Costs at the chain's prices. */
export interface TonTariff {
  /** The TON that a transfer of this token needs once it has left the payer's wallet, in nanotons. */
  readonly transfer: (token: Asset) => bigint
  /** The TON that is attached to a payment, in nanotons. */
  readonly attached: (authorization: TonAuthorization, token: Asset) => bigint
  /** The most that a relayer's external message itself costs, without any message in it, in nanotons. */
  readonly external: bigint
  /** The same with the storage fee that a relayer owes after a year without a transaction. */
  readonly base: bigint
  /** The most that a message in it costs beside the attached TON, in nanotons. */
  readonly message: (message: Cell) => bigint
}

/** Gas of the payer's wallet, its Jetton wallet, the recipient's. Measured 5,300, 5,951 and 5,447; stablecoins need 10,000. */
const walletGas = 6_500n
const sendGas = 12_000n
const creditGas = 12_000n
/** Messages between them: the order, the credit with the state init of the recipient's Jetton wallet, and the excess. */
const orderSize = { bits: 1_400n, cells: 3n }
const creditSize = { bits: 10_000n, cells: 22n }
const excessSize = { bits: 900n, cells: 1n }
/** TON that a new Jetton wallet keeps for its storage, in nanotons; a constant in contracts. */
const kept = 10_000_000n
/** Demand of contracts that have the prices of 2020 as constants, in nanotons: an unknown token may be one of them. */
const oldest = 50_000_000n

/** The relayer's wallet: gas of an external message, and of each message in it (measured 4,900 and 733). */
const baseGas = 6_500n
const messageGas = 900n
/** Size of the wallet's code and data, for a year's storage, and of the external message without its actions. */
const relayerSize = { bits: 6_500n, cells: 30n }
const year = 31_536_000n
const externalSize = { bits: 1_400n, cells: 2n }
/** Size of an action in the list of actions, without its message. */
const actionSize = { bits: 40n, cells: 1n }

/**
 * The tariff at these prices. `attachedTon` is the operator's own amount for all transfers, in nanotons. Without it the amount
 * follows from the prices, and for an unknown token it is at least the demand of old contracts.
 */
export const make = (
  prices: TonPrices.TonPrices,
  isKnown: (token: Asset) => boolean,
  attachedTon: bigint | undefined
): TonTariff => {
  const order = prices.gas(walletGas) + prices.forward(orderSize)
  const needed =
    order + prices.gas(sendGas) + prices.forward(creditSize) + prices.gas(creditGas) + prices.forward(excessSize) + kept
  const transfer = (token: Asset) => attachedTon ?? (isKnown(token) || needed > oldest ? needed : oldest)
  const external = prices.gas(baseGas) + prices.forward(externalSize)
  return {
    transfer,
    attached: ({ request, value }, token) => (request.mode === 64 ? transfer(token) : value + order),
    external,
    base: external + prices.storage(relayerSize, year),
    message: (message) => {
      const size = TonPrices.sizeOf([message])
      const carried = { bits: size.bits + actionSize.bits, cells: size.cells + actionSize.cells }
      // The flat fee of the external message is in the base; its share here has none.
      const imported = prices.forward(carried) - prices.forward({ bits: 0n, cells: 0n })
      return imported + prices.forward(TonPrices.sizeOf(message.refs)) + messageGas * gasPrice(prices)
    }
  }
}

/** Price of one more unit of gas, in nanotons, rounded up. */
const gasPrice = ({ gas }: TonPrices.TonPrices): bigint => (gas(baseGas + 1_000n) - gas(baseGas) + 999n) / 1_000n
