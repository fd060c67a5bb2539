/** Sends a refusal or a kept response unchanged, before a filter of the application can reshape it. */
import { type ArgumentsHost, Catch, type ExceptionFilter, Inject } from "@nestjs/common"
import { HttpAdapterHost } from "@nestjs/core"
import type { KeptResponse } from "@pontage/core"

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
    if (exception instanceof PaymentRepeatedException) return repeat(response, exception.kept)
    const { body, status } = exception.gateResponse
    if (httpAdapter.isHeadersSent(response)) httpAdapter.end(response)
    else httpAdapter.reply(response, body === "" ? undefined : body, status)
  }
}

/**
 * Sends the bytes of a kept response past the host's serialisers, which would encode them anew. Headers of the present
 * request's own CORS settings stay, since the response may have been made for a page of another origin.
 */
const repeat = (response: HostResponse, { body, headers, status }: KeptResponse.KeptResponse): void => {
  const node = nodeResponse(response)
  if (node.headersSent) return void node.end()
  for (const [name, value] of Object.entries(response.getHeaders()))
    if (value !== undefined) node.setHeader(name, value)
  for (const [name, value] of headers) {
    if (/^access-control-allow-/i.test(name) && node.hasHeader(name)) continue
    node.setHeader(name, value)
  }
  node.statusCode = status
  node.setHeader("Content-Length", body.length)
  node.end(body)
}
