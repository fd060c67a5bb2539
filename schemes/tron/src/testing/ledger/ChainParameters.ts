/** The prices and limits of the local chain: mainnet's of late 2026, unless a test sets others. */

/** Prices in sun, limits in units a day. */
export interface ChainParameters {
  /** Price of a unit of energy. */
  readonly energyFee: bigint
  /** Price of a byte of bandwidth. */
  readonly transactionFee: bigint
  /** Free bandwidth of every account. */
  readonly freeNetLimit: bigint
  /** Price of a memo in a transaction. */
  readonly memoFee: bigint
  /** Price of the second and further signatures together. */
  readonly multiSignFee: bigint
  /** Price of creating an account, instead of bandwidth. */
  readonly createAccountFee: bigint
  /** Additional price of creating an account. */
  readonly createNewAccountFee: bigint
  /** Price of changing an account's permissions. */
  readonly updateAccountPermissionFee: bigint
  /** Highest fee limit that a transaction may have. */
  readonly maxFeeLimit: bigint
  readonly totalEnergyLimit: bigint
  /** Total stake for energy, in TRX. */
  readonly totalEnergyWeight: bigint
  readonly totalNetLimit: bigint
  /** Total stake for bandwidth, in TRX. */
  readonly totalNetWeight: bigint
}

/** Mainnet's. */
export const mainnet: ChainParameters = {
  energyFee: 100n,
  transactionFee: 1_000n,
  freeNetLimit: 600n,
  memoFee: 1_000_000n,
  multiSignFee: 1_000_000n,
  createAccountFee: 100_000n,
  createNewAccountFee: 1_000_000n,
  updateAccountPermissionFee: 100_000_000n,
  maxFeeLimit: 15_000_000_000n,
  totalEnergyLimit: 180_000_000_000n,
  totalEnergyWeight: 16_560_000_000n,
  totalNetLimit: 43_200_000_000n,
  totalNetWeight: 26_600_000_000n
}

/** Sun in a TRX. */
export const sunPerTrx = 1_000_000n
