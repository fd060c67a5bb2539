/** The rows of payers that are mostly in memory: the database is asked only for those that are not in the image. */
import * as Effect from "effect/Effect"

import type { PayerRows } from "../records/PayerRows.ts"
import type { PayerImage } from "./PayerImage.ts"

/** The rows of a file with this image. `plain` are the same rows without it. */
export const make = (plain: PayerRows, image: PayerImage): PayerRows => ({
  open: (transaction, payment) => {
    const known = image.find(payment)
    if (known !== undefined) return Effect.succeed([...known.open.values()])
    return Effect.map(plain.open(transaction, payment), (open) => {
      image.keep(payment, open)
      return open
    })
  },
  endedAfter: (transaction, payment, serial) => {
    const newest = image.find(payment)?.newest
    return newest !== undefined && newest <= serial ? none : plain.endedAfter(transaction, payment, serial)
  }
})

const none = Effect.succeed<ReadonlyArray<bigint>>([])
