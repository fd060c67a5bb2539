/**
 * Watches how the response of a granted request ends, and keeps its response if that may come again. For hosts on Node; it
 * joins `ResponseWatch`, which sees the connection, and `ResponseCapture`, which sees the writer.
 */
import * as Effect from "effect/Effect"

import type { ResponseSink } from "./Decision.ts"
import * as MeteredNodeResponse from "./MeteredNodeResponse.ts"
import * as PaymentMeter from "./PaymentMeter.ts"
import * as ResponseCapture from "./ResponseCapture.ts"
import * as ResponseSeal from "./ResponseSeal.ts"
import * as ResponseWatch from "./ResponseWatch.ts"
import type { StreamMeter } from "./StreamMeter.ts"
import * as UpgradeRequest from "./UpgradeRequest.ts"

/** A granted request's sink, and the runner of its effects. */
export interface Keeping {
  readonly sink: ResponseSink | undefined
  readonly run: (effect: Effect.Effect<void>) => Promise<void>
  /** Charges the response while it is sent (`Granted.meter`). */
  readonly meter?: StreamMeter | undefined
  /** The head of a response with a lower status is its delivery (`Granted.endsAtHead`). */
  readonly endsAtHead?: number | undefined
}

/** Called once with whether the response was delivered, and with the status that it was sent with. */
export type Notify = (delivered: boolean, status: number) => void

/**
 * Calls `tell` once, for `Granted.finish`. A WebSocket is delivered when it opens. With a sink a response that is cut
 * off is not judged before its writer has ended it: the response is kept then, and its payer gets it again.
 */
export const watch = (
  request: ResponseWatch.WatchableRequest,
  response: ResponseWatch.WatchableResponse & ResponseCapture.CapturedResponse,
  { endsAtHead, meter, sink, run }: Keeping,
  tell: Notify
): void => {
  // The application may set another status on a response that has left.
  let sent: number | undefined
  ResponseSeal.afterHead(response, (status) => {
    sent = status
  })
  let isTold = false
  const once: Notify = (delivered, status) => {
    if (isTold) return
    isTold = true
    leave()
    tell(delivered, status)
  }
  const leave = UpgradeRequest.onUpgrade(request, response, () => once(true, 101))
  const notify = (delivered: boolean) => once(delivered, sent ?? response.statusCode)
  if (meter !== undefined) {
    PaymentMeter.attach(request, meter)
    MeteredNodeResponse.join(response, meter)
    return ResponseWatch.watch(request, response, notify)
  }
  if (endsAtHead !== undefined) return watchHead(request, response, endsAtHead, notify)
  if (sink === undefined) return ResponseWatch.watch(request, response, notify)
  let cut: { readonly delivered: boolean } | undefined
  let hasEnded = false
  ResponseCapture.copy(response, sink.maximumBytes, (copy) => {
    hasEnded = true
    const isWhole = copy !== undefined && (copy.body.length > 0 || isWritable(request, response))
    void run(isWhole ? sink.keep(copy) : Effect.void).then(() => cut && notify(cut.delivered))
  })
  ResponseWatch.watch(request, response, (delivered) => {
    if (hasEnded || isTold) return notify(delivered)
    cut = { delivered }
    void run(sink.cut)
  })
}

/** As `ResponseWatch.watch`, but a head below this status that is sent to a client which is still there is delivered at once. */
const watchHead = (
  request: ResponseWatch.WatchableRequest,
  response: ResponseWatch.WatchableResponse & ResponseCapture.CapturedResponse,
  below: number,
  notify: (delivered: boolean) => void
): void => {
  let notified = false
  const once = (delivered: boolean) => {
    if (notified) return
    notified = true
    notify(delivered)
  }
  ResponseSeal.afterHead(response, (status) => {
    if (status < below) once(true)
  })
  ResponseWatch.watch(request, response, once)
}

/**
 * Whether a response could still be written when it was ended. Hosts end one whose client has left without its body, so
 * an empty body says nothing then.
 */
const isWritable = (request: ResponseWatch.WatchableRequest, response: ResponseWatch.WatchableResponse): boolean => {
  if (ResponseWatch.isGone(request, response)) return false
  const { socket, stream } = response
  // Over HTTP/2 the socket stands for the stream, which is no longer writable once it has ended.
  if (stream !== undefined) return true
  return typeof socket !== "object" || socket === null || Reflect.get(socket, "writable") !== false
}
