/** Sends a refusal or a kept response unchanged, before a filter of the application can reshape it. */
import type { ServerResponse } from "node:http"

import { type ArgumentsHost, Catch, type ExceptionFilter, Inject } from "@nestjs/common"
import { HttpAdapterHost } from "@nestjs/core"
import { type GateResponse, HeldResponse } from "@pontage/core"

import { PaymentRefusedException, PaymentRepeatedException } from "./payment.exception.ts"
import { type HostResponse, nodeResponse } from "./payment.http.ts"

/** The filter; the module and `@Paid` put it in place. */
@Catch(PaymentRefusedException, PaymentRepeatedException)
export class PaymentRefusedFilter implements ExceptionFilter<PaymentRefusedException | PaymentRepeatedException> {
  readonly #host: HttpAdapterHost

  constructor(@Inject(HttpAdapterHost) host: HttpAdapterHost) {
    this.#host = host
  }

  catch(exception: PaymentRefusedException | PaymentRepeatedException, host: ArgumentsHost): void {
    const { httpAdapter } = this.#host
    const response = host.switchToHttp().getResponse<HostResponse>()
    if (exception instanceof PaymentRepeatedException) return repeat(response, exception)
    const { body, status } = exception.gateResponse
    if (httpAdapter.isHeadersSent(response)) httpAdapter.end(response)
    else if ("raw" in response) httpAdapter.reply(response, body === "" ? undefined : body, status)
    else end(response, exception.gateResponse)
  }
}

/** Express would hash the body for an `ETag`, which no refusal needs. */
const end = (response: ServerResponse, { body, status }: GateResponse): void => {
  response.statusCode = status
  response.end(body)
}

/** Sends the bytes of a kept response past the host's serialisers, which would encode them anew. */
const repeat = (response: HostResponse, { kept }: PaymentRepeatedException): void => {
  const node = nodeResponse(response)
  if (node.headersSent) node.end()
  else HeldResponse.repeat(node, kept, response.getHeaders())
}
