/** Faults that a test can plant in the node: in the transport of its responses, or in its verdict about a transaction. */
import * as NodeRefusal from "./NodeRefusal.ts"

/**
 * A fault. `Refuse` rejects broadcasts with a code, wrongly if the transaction `isTaken` all the same. `Status` responds with an
 * HTTP status, `Text` with a given body, `Hang` never, `Disconnect` closes the connection; with `isDone` the request is executed
 * first.
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

/** The requests that a fault affects. */
export interface FaultPlace {
  /** End of the path, such as `broadcasthex`; default every path. */
  readonly path?: string
  /** Number of requests; default all until the fault is removed. */
  readonly times?: number
}

/** The planted faults. */
export interface NodeFaults {
  readonly plant: (fault: NodeFault, place?: FaultPlace) => void
  readonly heal: () => void
  /** The fault of the next request to a path; counts as used. */
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

/** Whether a fault affects a path; `Refuse` affects broadcasts only. */
const isAt = (path: string, { _tag }: NodeFault, place: FaultPlace): boolean =>
  (place.path === undefined || path.endsWith(`/${place.path}`)) && (_tag !== "Refuse" || path.includes("/broadcast"))

/** The rejection by which a fault replaces the chain's. */
export const refusalOf = ({
  code,
  message
}: Extract<NodeFault, { readonly _tag: "Refuse" }>): NodeRefusal.NodeRefusal =>
  new NodeRefusal.NodeRefusal({ code, message: message ?? code })
