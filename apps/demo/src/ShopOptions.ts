/**
 * What both shops are told.
 */
export interface ShopOptions {
  /** The public origin the shop is reached under: `http://127.0.0.1:4021`. */
  readonly origin: string
  /** The facilitator's URL. */
  readonly facilitator: string
  /** Binds payments to requests; the same on every server of one shop. */
  readonly secret: string
  readonly evm: ShopChain
  readonly ton: ShopChain
  readonly tron: ShopChain
}

/**
 * A chain the shop is paid on.
 */
export interface ShopChain {
  /** A node of the chain; asked at start only. */
  readonly rpcUrl: string
  /** Who is paid. */
  readonly payTo: string
}
