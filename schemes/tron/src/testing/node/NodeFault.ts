/**
 * Faults a test can plant in the node: on the way of its answers, or in its mind about a transaction.
 */
import * as NodeRefusal from "./NodeRefusal.ts"

/**
 * What goes wrong. `Refuse` answers broadcasts with a code, and wrongly so where the transaction `isTaken` all the same.
 * `Status` answers with an HTTP status, `Text` with a body of its own, `Hang` never, `Disconnect` cuts the
 * connection; where `isDone` what was asked is done first.
 */
export type NodeFault =
  | {
      readonly _tag: "Refuse"
      readonly code: NodeRefusal.RefusalCode
      readonly message?: string
      readonly isTaken?: boolean
    }
  | { readonly _tag: "Status"; readonly status: number; readonly isDone?: boolean }
  | { readonly _tag: "Text"; readonly body: string; readonly isDone?: boolean }
  | { readonly _tag: "Hang"; readonly isDone?: boolean }
  | { readonly _tag: "Disconnect"; readonly isDone?: boolean }

/** Where it goes wrong, and how often. */
export interface FaultPlace {
  /** The end of the path, such as `broadcasthex`; default every path. */
  readonly path?: string
  /** Default until it is healed. */
  readonly times?: number
}

/** The faults that are planted. */
export interface NodeFaults {
  readonly plant: (fault: NodeFault, place?: FaultPlace) => void
  readonly heal: () => void
  /** The fault of a request now; it is used up by being asked for. */
  readonly next: (path: string) => NodeFault | undefined
}

/** No faults yet. */
export const make = (): NodeFaults => {
  let planted: Array<{ readonly fault: NodeFault; readonly place: FaultPlace; left: number }> = []
  return {
    plant: (fault, place = {}) => {
      planted.push({ fault, place, left: place.times ?? Infinity })
    },
    heal: () => {
      planted = []
    },
    next: (path) => {
      const found = planted.find(({ fault, left, place }) => left > 0 && isAt(path, fault, place))
      if (found === undefined) return undefined
      found.left -= 1
      return found.fault
    }
  }
}

/** A refusal is only of what is broadcast. */
const isAt = (path: string, { _tag }: NodeFault, place: FaultPlace): boolean =>
  (place.path === undefined || path.endsWith(`/${place.path}`)) && (_tag !== "Refuse" || path.includes("/broadcast"))

/** The refusal a fault puts in place of the chain's word. */
export const refusalOf = ({
  code,
  message
}: Extract<NodeFault, { readonly _tag: "Refuse" }>): NodeRefusal.NodeRefusal =>
  new NodeRefusal.NodeRefusal({ code, message: message ?? code })
