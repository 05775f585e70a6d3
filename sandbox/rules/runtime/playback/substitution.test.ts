import { describe, expect, it } from 'vitest'
import { substitute } from './substitution.ts'

const addresses = { recorded: 'https://ads.example/base', present: 'http://127.0.0.1:4010' }

describe('substitute', () => {
  it('takes identifiers, times, tokens, addresses and counts from the present, and everything else as recorded', () => {
    const recorded = {
      slot_id: 'slot_then',
      status: 'ready',
      placement: { asset_token: 'ast_then_redacted', sponsor_name: 'Then', click_url: 'https://then.example/' },
      authoritative_consent: { revision: 7, expires_at_ms: 1, lifecycle_state: 'granted' },
      revenue_estimate: { gross_cpm: 4.2 },
      is_new: true,
    }
    const present = {
      slot_id: 'slot_now',
      status: 'expired',
      placement: { asset_token: 'ast_now', sponsor_name: 'Now', click_url: 'https://now.example/' },
      authoritative_consent: { revision: 1, expires_at_ms: 2, lifecycle_state: 'denied' },
      revenue_estimate: { gross_cpm: 1 },
      request_id: 'req_1',
    }
    expect(substitute(recorded, present, addresses)).toEqual({
      body: {
        slot_id: 'slot_now',
        status: 'ready',
        placement: { asset_token: 'ast_now', sponsor_name: 'Then', click_url: 'https://now.example/' },
        authoritative_consent: { revision: 1, expires_at_ms: 2, lifecycle_state: 'granted' },
        revenue_estimate: { gross_cpm: 4.2 },
        is_new: true,
      },
      pairs: [
        ['slot_then', 'slot_now'],
        ['ast_then_redacted', 'ast_now'],
      ],
      isComplete: true,
    })
  })

  it('pairs the items of lists, and takes a list of another length as a whole', () => {
    const { body, pairs } = substitute(
      { slot_ids: ['slot_1', 'slot_2'], allowed_origins: ['https://then.example'] },
      { slot_ids: ['slot_3', 'slot_4'], allowed_origins: ['http://a.example', 'http://b.example'] },
      addresses,
    )
    expect(body).toEqual({ slot_ids: ['slot_3', 'slot_4'], allowed_origins: ['http://a.example', 'http://b.example'] })
    expect(pairs).toEqual([
      ['slot_1', 'slot_3'],
      ['slot_2', 'slot_4'],
    ])
  })

  it('is incomplete without a token of the present: a recorded one opens nothing', () => {
    const recorded = { asset_token: 'ast_then_redacted', image_url: null }
    expect(substitute(recorded, { image_url: 'http://now.example/' }, addresses)).toMatchObject({
      body: { asset_token: 'ast_then_redacted', image_url: null },
      isComplete: false,
    })
    expect(substitute({ asset_token: null }, { asset_token: 'ast_now' }, addresses)).toMatchObject({
      body: { asset_token: null },
      isComplete: true,
    })
  })

  it('moves addresses of the service that the present has no field for, and no others', () => {
    const recorded = {
      docs: 'https://ads.example/base/docs?page=1',
      near: 'https://ads.example/baseless',
      other: 'https://cdn.example/base/x',
    }
    expect(substitute(recorded, null, addresses).body).toEqual({
      docs: 'http://127.0.0.1:4010/docs?page=1',
      near: 'https://ads.example/baseless',
      other: 'https://cdn.example/base/x',
    })
  })

  it('finds no field of the present in what every object inherits', () => {
    const recorded = JSON.parse('{"__proto__":{"slot_id":"a"},"constructor":"b"}')
    expect(JSON.stringify(substitute(recorded, {}, addresses).body)).toBe(
      '{"__proto__":{"slot_id":"a"},"constructor":"b"}',
    )
  })
})
