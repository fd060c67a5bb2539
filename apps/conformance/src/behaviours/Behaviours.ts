import * as TextTable from "../TextTable.ts"
/**
 * The behaviours that are compared, and their table.
 */
import { answerLost, answerLostToUs } from "./AnswerLost.ts"
import type { Behaviour } from "./Behaviour.ts"
import { copiesAtOnce } from "./CopiesAtOnce.ts"
import { facilitatorDown } from "./FacilitatorDown.ts"
import { handlerFailing, unboundHandlerFailing, uncharging } from "./HandlerFailing.ts"
import { headRequest } from "./HeadRequest.ts"
import { routeReuse, unboundRouteReuse } from "./RouteReuse.ts"
import { type Compared, compared } from "./Stage.ts"

/** All of them, in the order of the table. */
export const all: ReadonlyArray<Behaviour> = [
  copiesAtOnce,
  headRequest,
  routeReuse,
  unboundRouteReuse,
  facilitatorDown,
  handlerFailing,
  unboundHandlerFailing,
  uncharging,
  answerLost,
  answerLostToUs
]

/** The observation of a behaviour at a shop. */
export interface Seen {
  readonly behaviour: Behaviour
  readonly shop: Compared
  readonly line: string
  /** Whether it is what should be seen. */
  readonly met: boolean
}

/** One block for each behaviour, one line for each shop. */
export const toText = (seen: ReadonlyArray<Seen>): string => {
  const rows = all.flatMap((behaviour) =>
    compared.map((shop, index) => {
      const found = seen.find((each) => each.behaviour === behaviour && each.shop === shop)
      const line = found === undefined ? "" : `${found.met ? "" : "WRONG: "}${found.line}`
      return [index === 0 ? behaviour.title : "", shop.title, line]
    })
  )
  return TextTable.toText(["behaviour", "shop", "what was seen"], rows)
}
