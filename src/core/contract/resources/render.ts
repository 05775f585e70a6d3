/** The hosted frame of a fill, and the script that renders it. */
import { declareEndpoints, fileRequestHeaders, publicApi } from '../endpoint.ts'
import { AssetToken } from '../fields.ts'
import { documented, strictObject } from '../objects.ts'

export const v1 = declareEndpoints({
  'render.script': {
    ...publicApi,
    method: 'GET',
    path: '/v1/render.js',
    summary: 'Get the browser renderer',
    is_constant: true,
    description: 'The script that mounts hosted placement frames and manages the turn lifecycle. No authorization.',
    credentials: [],
    rate: null,
    request_headers: fileRequestHeaders,
    response: { media_type: 'text/javascript; charset=utf-8', has_ranges: true },
    response_headers: ['etag', 'content-encoding', 'access-control-allow-origin', 'cross-origin-resource-policy'],
  },
  'render.frame': {
    ...publicApi,
    method: 'GET',
    path: '/v1/render/{asset_token}',
    summary: 'Get the hosted frame of one fill',
    description:
      'Isolated creative HTML for one asset token. Unknown or expired tokens are an HTML 404, consent no longer granted an HTML 403.',
    credentials: [],
    rate: null,
    params: strictObject(() => ({ asset_token: documented(AssetToken, 'Token of the fill.') })),
    response: { media_type: 'text/html; charset=utf-8' },
    response_headers: ['content-security-policy', 'cache-control', 'cross-origin-resource-policy'],
    errors: [
      'asset_token_invalid',
      'asset_token_expired',
      'consent_not_granted',
      'consent_superseded',
      'consent_expired',
    ],
    pages: {
      asset_token_invalid: 404,
      asset_token_expired: 404,
      consent_not_granted: 403,
      consent_superseded: 403,
      consent_expired: 403,
    },
  },
})
