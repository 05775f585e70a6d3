import { describe, expect, test } from 'vitest'
import { findBestSize, isStandardSize, standardSizes } from './sizes.ts'

const { banner, clip } = standardSizes

describe('findBestSize', () => {
  test.each([
    [970, 250, '970x250'],
    [969, 250, '300x250'],
    [969, 249, '728x90'],
    [728, 90, '728x90'],
    [400, 300, '336x280'],
    [335, 280, '300x250'],
    [320, 100, '320x100'],
    [320, 99, '320x50'],
    [4096, 4096, '970x250'],
  ])('a banner slot of %ix%i takes %s', (max_width, max_height, expected) => {
    const size = findBestSize('banner', max_width, max_height, banner)
    expect(`${size?.width}x${size?.height}`).toBe(expected)
  })

  test('without a hint a banner is 300x250 and a clip 640x360', () => {
    expect(findBestSize('banner', null, null, banner)).toEqual({ width: 300, height: 250 })
    expect(findBestSize('clip', null, null, clip)).toEqual({ width: 640, height: 360 })
  })

  test('one bound alone does not limit the other side', () => {
    expect(findBestSize('banner', 320, null, banner)).toEqual({ width: 300, height: 250 })
    expect(findBestSize('banner', null, 90, banner)).toEqual({ width: 728, height: 90 })
    expect(findBestSize('clip', 639, null, clip)).toEqual({ width: 320, height: 180 })
  })

  test('nothing fits a tiny slot', () => {
    expect(findBestSize('banner', 10, null, banner)).toBeNull()
    expect(findBestSize('clip', 319, 180, clip)).toBeNull()
    expect(findBestSize('banner', 970, 250, [])).toBeNull()
  })

  test('the order of the available sizes does not matter', () => {
    expect(findBestSize('banner', 728, 250, banner.toReversed())).toEqual(findBestSize('banner', 728, 250, banner))
  })

  test('of two sizes with one area the first is taken', () => {
    const [first, second] = [
      { width: 300, height: 250 },
      { width: 300, height: 250 },
    ]
    expect(findBestSize('banner', null, null, [first, second])).toBe(first)
  })

  test('without a hint nothing larger than the usual slot is taken', () => {
    const large = { width: 1280, height: 720 }
    expect(findBestSize('clip', null, null, [large, ...clip])).toEqual({ width: 640, height: 360 })
    expect(findBestSize('banner', null, null, [large, ...banner])).toEqual({ width: 300, height: 250 })
  })

  test('native fits by its template, down to 120x50', () => {
    const image = { width: 600, height: 314 }
    expect(findBestSize('native', null, null, [image])).toBe(image)
    expect(findBestSize('native', 120, 50, [image])).toBe(image)
    expect(findBestSize('native', 119, null, [image])).toBeNull()
    expect(findBestSize('native', null, 49, [image])).toBeNull()
    expect(findBestSize('native', null, null, [])).toBeNull()
  })
})

test('standard sizes are those of the contract, largest area first', () => {
  const text = Object.values(standardSizes).map((sizes) => sizes.map(({ width, height }) => `${width}x${height}`))
  expect(text).toEqual([
    ['970x250', '336x280', '300x250', '728x90', '320x100', '320x50'],
    ['640x360', '320x180'],
  ])
  expect(isStandardSize('banner', { width: 300, height: 250 })).toBe(true)
  expect(isStandardSize('clip', { width: 300, height: 250 })).toBe(false)
  expect(isStandardSize('banner', { width: 300, height: 251 })).toBe(false)
  expect(isStandardSize('banner', { width: 301, height: 250 })).toBe(false)
})
