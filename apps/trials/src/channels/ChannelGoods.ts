/**
 * The goods of a shop of channels: what they cost, and whether their handler serves them. A handler that fails costs nothing.
 */

/** Goods. `price` in dollars, `amount` in the token's smallest unit. */
export interface ChannelGoods {
  readonly price: string
  readonly amount: bigint
  readonly isServed: boolean
}

/** By the name in their path. `late` ends once the charges before it are claimed. */
export const goods = {
  plain: { price: "$0.001", amount: 1_000n, isServed: true },
  dear: { price: "$0.002", amount: 2_000n, isServed: true },
  fail: { price: "$0.001", amount: 1_000n, isServed: false },
  late: { price: "$0.001", amount: 1_000n, isServed: false }
} as const satisfies Record<string, ChannelGoods>

/** Their names. */
export type GoodsName = keyof typeof goods

/** The deposit that the offers ask for: it is used up soon, so that deposits come all the time. */
export const deposit = 8_000n
