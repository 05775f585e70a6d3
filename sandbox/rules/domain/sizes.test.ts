import { describe, expect, test } from 'vitest'
import { nativeTemplates } from '#contract/fields.ts'
import { findBestSize, findNativeSize, isStandardSize, standardSizes } from './sizes.ts'

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
    const size = findBestSize('banner', { max_width, max_height }, banner)
    expect(`${size?.width}x${size?.height}`).toBe(expected)
  })

  test('without a hint a banner is 300x250 and a clip 640x360', () => {
    expect(findBestSize('banner', { max_width: null, max_height: null }, banner)).toEqual({ width: 300, height: 250 })
    expect(findBestSize('clip', { max_width: null, max_height: null }, clip)).toEqual({ width: 640, height: 360 })
  })

  test('one bound alone does not limit the other side', () => {
    expect(findBestSize('banner', { max_width: 320, max_height: null }, banner)).toEqual({ width: 300, height: 250 })
    expect(findBestSize('banner', { max_width: null, max_height: 90 }, banner)).toEqual({ width: 728, height: 90 })
    expect(findBestSize('clip', { max_width: 639, max_height: null }, clip)).toEqual({ width: 320, height: 180 })
  })

  test('nothing fits a tiny slot', () => {
    expect(findBestSize('banner', { max_width: 10, max_height: null }, banner)).toBeNull()
    expect(findBestSize('clip', { max_width: 319, max_height: 180 }, clip)).toBeNull()
    expect(findBestSize('banner', { max_width: 970, max_height: 250 }, [])).toBeNull()
  })

  test('the order of the available sizes does not matter', () => {
    expect(findBestSize('banner', { max_width: 728, max_height: 250 }, banner.toReversed())).toEqual(
      findBestSize('banner', { max_width: 728, max_height: 250 }, banner),
    )
  })

  test('of two sizes with one area the first is taken', () => {
    const [first, second] = [
      { width: 300, height: 250 },
      { width: 300, height: 250 },
    ]
    expect(findBestSize('banner', { max_width: null, max_height: null }, [first, second])).toBe(first)
  })

  test('without a hint nothing larger than the usual slot is taken', () => {
    const large = { width: 1280, height: 720 }
    expect(findBestSize('clip', { max_width: null, max_height: null }, [large, ...clip])).toEqual({
      width: 640,
      height: 360,
    })
    expect(findBestSize('banner', { max_width: null, max_height: null }, [large, ...banner])).toEqual({
      width: 300,
      height: 250,
    })
  })
})

describe('findNativeSize', () => {
  const sizes = (max_width: number | null, max_height: number | null) =>
    nativeTemplates.map((template) => {
      const size = findNativeSize(template, { max_width, max_height })
      return size && `${size.width}x${size.height}`
    })

  // card, list_item, featured, minimal.
  test.each([
    [null, null, ['600x436', '600x128', '600x308', '600x108']],
    [4_096, 4_096, ['600x436', '600x128', '600x308', '600x108']],
    [375, null, ['375x396', '375x166', '375x470', '375x158']],
    [320, 400, ['320x368', '320x166', '320x400', '320x158']],
    [120, null, ['120x307', '120x166', '120x361', '120x158']],
    [120, 50, ['120x50', '120x50', '120x50', '120x50']],
    [119, null, [null, null, null, null]],
    [null, 49, [null, null, null, null]],
  ])('in %s x %s a template has %j', (max_width, max_height, expected) => {
    expect(sizes(max_width, max_height)).toEqual(expected)
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
