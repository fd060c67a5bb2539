/**
 * Options of both shops.
 */
export interface ShopOptions {
  /** The shop's public origin: `http://127.0.0.1:4021`. */
  readonly origin: string
  /** The facilitator's URL. */
  readonly facilitator: string
  /** Binds payments to requests; the same on every server of one shop. */
  readonly secret: string
  readonly evm: ShopChain
  readonly ton: ShopChain
  readonly tron: ShopChain
}

/** A chain on which the shop is paid. */
export interface ShopChain {
  /** URL of a node of the chain; used at start only. */
  readonly rpcUrl: string
  /** Address of the payee. */
  readonly payTo: string
}
