/** The fee of a token's issuer on the way (CCTP): a part of the amount that is sent, in thousandths of a basis point. */

/** A fee of the whole amount. */
export const whole = 10_000_000n

/** The highest rate that is offered: a tenth of the amount. */
export const highestRate = whole / 10n

/** The least that the issuer takes of an amount, rounded up. */
export const of = (amount: bigint, rate: bigint): bigint => (amount * rate + whole - 1n) / whole

/** The amount that arrives at least of one that is sent. */
export const arrivingOf = (sent: bigint, rate: bigint): bigint => (sent * (whole - rate)) / whole

/** The amount that is sent so that a price arrives. The rate is below a whole. */
export const sentFor = (price: bigint, rate: bigint): bigint => (price * whole + whole - rate - 1n) / (whole - rate)
