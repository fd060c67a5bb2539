/**
 * The name of a draw on a payment channel, which stands where other payments have their id: the channel, and the most that its voucher
 * allows to claim.
 */
const prefix = "draw-"

const grammar = /^draw-[A-Za-z0-9]{1,100}-(0|[1-9][0-9]{0,77})$/

/** Whether a text is the name of a draw. */
export const isDrawId = (text: string): boolean => grammar.test(text)

/** The name of a draw by a voucher for this maximum in all. */
export const make = (channelId: string, maximum: bigint): string => `${prefix}${channelId}-${maximum}`

/** The channel of a draw; `undefined` for another payment's name. */
export const channelOf = (paymentId: string): string | undefined =>
  paymentId.startsWith(prefix) ? paymentId.slice(prefix.length).split("-")[0] : undefined
